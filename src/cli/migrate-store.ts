import { readEnvironment } from '../config/environment.ts';
import { loadSettings } from '../config/load-settings.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger } from '../lib/logger.ts';
import type { Command } from './command.ts';
import { progressOn } from './export.ts';
import { INTERRUPTED, openInterruption } from './interruption.ts';
import { amountOf, countOf, sizeOf } from './plain-words.ts';
import { SETTING_FLAGS } from './setting-flags.ts';

export const migrateStoreCommand: Command = {
  name: 'migrate-store',
  summary: 'copy the tiles of one store into another, while a server runs or not',
  operands: { usage: 'FROM TO', least: 2, most: 2 },
  flags: [
    { name: 'layer', placeholder: 'LAYER', help: 'only this one (all that have tiles)' },
    ...SETTING_FLAGS,
  ],
  async run(flags, terminal, { operands: [from = '', to = ''] }) {
    const { layer = null, ...others } = flags;
    const { settings } = loadSettings({
      flags: others,
      environment: readEnvironment(),
      workingFolder: process.cwd(),
    });
    const log = createLogger({ level: 'warn', pretty: process.stderr.isTTY === true });
    const interruption = openInterruption();
    const { migrateStore } = await import('../app/migrate-store.ts');
    try {
      const order = { from, to, layer, signal: interruption.signal, onProgress: progressOn(terminal) };
      const { tiles, bytes, present } = await migrateStore(settings, order, { log, clock: systemClock });
      const before = present === 0 ? '' : `, ${countOf(present)} of them were there already`;
      terminal.out(`Copied ${amountOf(tiles, 'tile')} from ${from} to ${to} (${sizeOf(bytes)})${before}.\n`);
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
