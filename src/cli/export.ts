import { type Command, SETTING_FLAGS, type Terminal } from './command.ts';
import { runLocalJob } from './local-job.ts';
import { amountOf, countOf, sizeOf } from './plain-words.ts';
import { ORDER_FLAGS, selectedArea, selectedTiles } from './task-order.ts';

/** Which say nothing of the tiles. */
const OF_TASKS = ['threads', 'priority'];

export const exportCommand: Command = {
  name: 'export',
  summary: 'copy cached tiles into an .mbtiles, .pmtiles or .gpkg file',
  operands: { usage: 'LAYER FILE', least: 2, most: 2 },
  flags: [...ORDER_FLAGS.filter(({ name }) => !OF_TASKS.includes(name)), ...SETTING_FLAGS],
  async run(flags, terminal, given) {
    const [layer = '', target = ''] = given.operands;
    return runLocalJob(flags, terminal, 'to continue', async (settings, { signal, ...tools }) => {
      const { exportLayer } = await import('../app/export-layer.ts');
      const which = { ...selectedTiles(flags, given), geoJson: selectedArea(flags), layer };
      const job = { ...which, target, signal, onProgress: progressOn(terminal) };
      const { tiles, present, bytes } = await exportLayer(settings, job, tools);
      const before = present === 0 ? '' : `, ${countOf(present)} of them by an earlier attempt`;
      return `Exported ${amountOf(tiles, 'tile')} to ${target} (${sizeOf(bytes)})${before}.`;
    });
  },
};

export function progressOn(
  terminal: Terminal,
  what = 'tile',
): (progress: { readonly tiles: number; readonly expected: number }) => void {
  if (!terminal.columns) return () => {};
  return ({ tiles, expected }) => {
    const share = expected === 0 ? 100 : Math.min(100, Math.floor((tiles / expected) * 100));
    terminal.err(`\r${String(share).padStart(3)} %  ${countOf(tiles)} of ${amountOf(expected, what)} `);
  };
}
