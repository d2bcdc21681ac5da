import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import type { Command } from './command.ts';
import { progressOn } from './export.ts';
import { INTERRUPTED, openInterruption } from './interruption.ts';
import { amountOf, countOf } from './plain-words.ts';
import { SETTING_FLAGS } from './setting-flags.ts';

export const rebuildIndexCommand: Command = {
  name: 'rebuild-index',
  summary: 'list the tiles of an s3 store again from its bucket, when the database is lost',
  operands: { usage: 'STORE', least: 1, most: 1 },
  flags: [
    { name: 'resume', placeholder: null, help: 'go on with an attempt that was interrupted' },
    ...SETTING_FLAGS,
  ],
  async run({ resume, ...flags }, terminal, { operands: [store = ''] }) {
    const { settings } = loadSettings({
      flags,
      environment: readEnvironment(),
      workingFolder: process.cwd(),
    });
    const log = createLogger({ level: 'warn', pretty: process.stderr.isTTY === true });
    const interruption = openInterruption();
    const { rebuildIndexOf } = await import('../app/rebuild-index.ts');
    const show = progressOn(terminal, 'pack');
    try {
      const { packs, tiles, leftOut } = await rebuildIndexOf(settings, store, {
        ...{ log, clock: systemClock, resume: resume !== undefined, signal: interruption.signal },
        onProgress: ({ packs: done, expected }) => show({ tiles: done, expected }),
      });
      const others = leftOut === 0 ? '' : `; left out ${amountOf(leftOut, 'object')}`;
      terminal.out(`Listed ${countOf(tiles)} tiles in ${amountOf(packs, 'pack')}${others}.\n`);
      return 0;
    } catch (error) {
      if (!interruption.signal.aborted) throw error;
      terminal.err('Interrupted. Run the same command again with --resume to continue.\n');
      return INTERRUPTED;
    } finally {
      interruption.close();
    }
  },
};
