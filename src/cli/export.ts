import { type Command, SETTING_FLAGS, type Terminal } from './command.ts';
import { runLocalJob } from './local-job.ts';
import { amountOf, countOf, sizeOf } from './plain-words.ts';
import { ORDER_FLAGS, selectedTiles } from './task-order.ts';

const NARROWING = ['grid-set', 'zoom-start', 'zoom-stop', 'bounds', 'format', 'parameter'];

export const exportCommand: Command = {
  name: 'export',
  summary: 'copy cached tiles into an .mbtiles, .pmtiles or .gpkg file',
  operands: { usage: 'LAYER FILE', least: 2, most: 2 },
  flags: [...ORDER_FLAGS.filter(({ name }) => NARROWING.includes(name)), ...SETTING_FLAGS],
  async run(flags, terminal, given) {
    const [layer = '', target = ''] = given.operands;
    return runLocalJob(flags, terminal, 'to continue', async (settings, { signal, ...tools }) => {
      const { exportLayer } = await import('../app/export-layer.ts');
      const job = { ...selectedTiles(flags, given), layer, target, signal, onProgress: progressOn(terminal) };
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
