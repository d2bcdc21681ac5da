import { type Command, SETTING_FLAGS } from './command.ts';
import { progressOn } from './export.ts';
import { runLocalJob } from './local-job.ts';
import { amountOf, countOf, sizeOf } from './plain-words.ts';

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
    return runLocalJob(others, terminal, 'to continue', async (settings, { signal, ...tools }) => {
      const { migrateStore } = await import('../app/migrate-store.ts');
      const order = { from, to, layer, signal, onProgress: progressOn(terminal) };
      const { tiles, bytes, present } = await migrateStore(settings, order, tools);
      const before = present === 0 ? '' : `, ${countOf(present)} of them were there already`;
      return `Copied ${amountOf(tiles, 'tile')} from ${from} to ${to} (${sizeOf(bytes)})${before}.`;
    });
  },
};
