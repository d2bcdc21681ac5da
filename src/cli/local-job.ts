import type { Settings } from '../config/settings-schema.ts';
import { systemClock } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { createLogger } from '../lib/logger.ts';
import { type Command, DATA_FLAGS, flag, progressOn, settingsFor, type Terminal } from './command.ts';
import { countText, plural, sizeText } from './format.ts';
import { INTERRUPTED, openInterruption, PRIVATE_FILES } from './process-setup.ts';
import { ORDER_FLAGS, selectedArea, selectedTiles } from './task-order.ts';

interface JobTools extends Env {
  readonly signal: AbortSignal;
}

/** Long work on the stores themselves, whether or not a server runs. Prints the result of `work`, or after Ctrl-C how to continue. */
async function runLocalJob(
  flags: Readonly<Record<string, string | undefined>>,
  terminal: Terminal,
  again: string,
  work: (settings: Settings, tools: JobTools) => Promise<string>,
): Promise<number> {
  process.umask(PRIVATE_FILES);
  const { settings } = await settingsFor(flags);
  const log = createLogger('warn');
  const interruption = openInterruption();
  const { signal } = interruption;
  try {
    terminal.out(`${await work(settings, { log, clock: systemClock, signal })}\n`);
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.err(`Interrupted. Run the same command again ${again}.\n`);
    return INTERRUPTED;
  } finally {
    interruption.close();
  }
}

/** These do not select tiles. */
const OF_TASKS = ['threads', 'priority'];

export const exportCommand: Command = {
  name: 'export',
  summary: 'copy cached tiles into an .mbtiles, .pmtiles or .gpkg file',
  operands: { usage: 'LAYER FILE', least: 2, most: 2 },
  flags: [...ORDER_FLAGS.filter(({ name }) => !OF_TASKS.includes(name)), ...DATA_FLAGS],
  async run(flags, terminal, args) {
    const [layer = '', target = ''] = args.operands;
    return runLocalJob(flags, terminal, 'to continue', async (settings, { signal, ...tools }) => {
      const { exportLayer } = await import('../app/offline.ts');
      const which = { ...selectedTiles(flags, args), geoJson: selectedArea(flags), layer };
      const job = { ...which, target, signal, onProgress: tilesOn(terminal) };
      const { tiles, present, bytes } = await exportLayer(settings, job, tools);
      const before = present === 0 ? '' : `, ${countText(present)} of them by an earlier attempt`;
      return `Exported ${plural(tiles, 'tile')} to ${target} (${sizeText(bytes)})${before}.`;
    });
  },
};

function tilesOn(terminal: Terminal) {
  const show = progressOn(terminal, 'tile');
  return ({ tiles, expected }: { readonly tiles: number; readonly expected: number }) =>
    show(tiles, expected);
}

export const migrateStoreCommand: Command = {
  name: 'migrate-store',
  summary: 'copy the tiles of one store into another, while a server runs or not',
  operands: { usage: 'FROM TO', least: 2, most: 2 },
  flags: [flag('layer', 'LAYER', 'only this one (all that have tiles)'), ...DATA_FLAGS],
  async run(flags, terminal, { operands: [from = '', to = ''] }) {
    const { layer = null, ...others } = flags;
    return runLocalJob(others, terminal, 'to continue', async (settings, { signal, ...tools }) => {
      const { migrateStore } = await import('../app/offline.ts');
      const order = { from, to, layer, signal, onProgress: tilesOn(terminal) };
      const { tiles, bytes, present } = await migrateStore(settings, order, tools);
      const before = present === 0 ? '' : `, ${countText(present)} of them were there already`;
      return `Copied ${plural(tiles, 'tile')} from ${from} to ${to} (${sizeText(bytes)})${before}.`;
    });
  },
};

export const rebuildIndexCommand: Command = {
  name: 'rebuild-index',
  summary: 'list the tiles of a store again from its files or its bucket, when the index is damaged or lost',
  operands: { usage: 'STORE', least: 1, most: 1 },
  flags: [flag('resume', null, 'continue an interrupted attempt'), ...DATA_FLAGS],
  async run({ resume, ...flags }, terminal, { operands: [store = ''] }) {
    const show = progressOn(terminal, 'file');
    return runLocalJob(flags, terminal, 'with --resume to continue', async (settings, tools) => {
      const { rebuildIndexOf } = await import('../app/offline.ts');
      const { packs, tiles, leftOut } = await rebuildIndexOf(settings, store, {
        ...tools,
        resume: resume !== undefined,
        onProgress: ({ files, expected }) => show(files, expected),
      });
      const others = leftOut === 0 ? '' : `; left out ${plural(leftOut, 'file')}`;
      return `Listed ${countText(tiles)} tiles in ${plural(packs, 'pack')}${others}.`;
    });
  },
};

export const backupCommand: Command = {
  name: 'backup',
  summary: 'copy the database and the tiles of the data folder into a new one, while a server runs or not',
  operands: { usage: 'TARGET', least: 1, most: 1 },
  flags: DATA_FLAGS,
  async run(flags, terminal, { operands: [target = ''] }) {
    return runLocalJob(flags, terminal, 'to begin again', async (settings, { signal }) => {
      const { backUp } = await import('../app/offline.ts');
      const { files, bytes } = await backUp(settings, target, signal);
      const database =
        settings.database === null
          ? 'The database and '
          : 'PostgreSQL is not included: back it up before this. Otherwise ';
      return `${database}${plural(files, 'file')} of tiles (${sizeText(bytes)}) are in ${target}.`;
    });
  },
};
