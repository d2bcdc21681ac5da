import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import type { Command, Terminal } from './command.ts';
import { INTERRUPTED, openInterruption } from './interruption.ts';
import { amountOf, countOf, sizeOf } from './plain-words.ts';
import { SETTING_FLAGS } from './setting-flags.ts';
import { ORDER_FLAGS, selectedTiles } from './task-order.ts';

const NARROWING = ['grid-set', 'zoom-start', 'zoom-stop', 'bounds', 'format', 'parameter'];

export const exportCommand: Command = {
  name: 'export',
  summary: 'copy cached tiles into an .mbtiles, .pmtiles or .gpkg file',
  operands: { usage: 'LAYER FILE', least: 2, most: 2 },
  flags: [...ORDER_FLAGS.filter(({ name }) => NARROWING.includes(name)), ...SETTING_FLAGS],
  async run(flags, terminal, given) {
    const [layer = '', target = ''] = given.operands;
    const { settings } = loadSettings({
      flags,
      environment: readEnvironment(),
      workingFolder: process.cwd(),
    });
    const log = createLogger({ level: 'warn', pretty: process.stderr.isTTY === true });
    const interruption = openInterruption();
    const { exportLayer } = await import('../app/export-layer.ts');
    try {
      const onProgress = progressOn(terminal);
      const job = { ...selectedTiles(flags, given), layer, target, signal: interruption.signal, onProgress };
      const { tiles, present, bytes } = await exportLayer(settings, job, { log, clock: systemClock });
      const before = present === 0 ? '' : `, ${countOf(present)} of them by an earlier attempt`;
      terminal.out(`Exported ${amountOf(tiles, 'tile')} to ${target} (${sizeOf(bytes)})${before}.\n`);
      return 0;
    } catch (error) {
      if (!interruption.signal.aborted) throw error;
      terminal.err('Interrupted. Run the same command again to continue.\n');
      return INTERRUPTED;
    } finally {
      interruption.close();
    }
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
