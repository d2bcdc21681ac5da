import { type Command, SETTING_FLAGS } from './command.ts';
import { progressOn } from './export.ts';
import { runLocalJob } from './local-job.ts';
import { amountOf, countOf } from './plain-words.ts';

export const rebuildIndexCommand: Command = {
  name: 'rebuild-index',
  summary: 'list the tiles of an s3 store again from its bucket, when the database is lost',
  operands: { usage: 'STORE', least: 1, most: 1 },
  flags: [
    { name: 'resume', placeholder: null, help: 'go on with an attempt that was interrupted' },
    ...SETTING_FLAGS,
  ],
  async run({ resume, ...flags }, terminal, { operands: [store = ''] }) {
    const show = progressOn(terminal, 'pack');
    return runLocalJob(flags, terminal, 'with --resume to continue', async (settings, tools) => {
      const { rebuildIndexOf } = await import('../app/rebuild-index.ts');
      const { packs, tiles, leftOut } = await rebuildIndexOf(settings, store, {
        ...tools,
        resume: resume !== undefined,
        onProgress: ({ packs: done, expected }) => show({ tiles: done, expected }),
      });
      const others = leftOut === 0 ? '' : `; left out ${amountOf(leftOut, 'object')}`;
      return `Listed ${countOf(tiles)} tiles in ${amountOf(packs, 'pack')}${others}.`;
    });
  },
};
