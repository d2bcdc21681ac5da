import { z } from 'zod';
import { CLIENT_FLAGS, type Command } from './command.ts';
import { amountOf, sizeOf } from './plain-words.ts';
import { readAnswer, serverClientFor, withSuggestion } from './server-client.ts';

const clearedSchema = z.object({ tiles: z.number(), bytes: z.number(), tileSets: z.array(z.unknown()) });

export const clear: Command = {
  name: 'clear',
  summary: 'truncate a layer at once: every grid set, format and parameter value',
  operands: { usage: 'LAYER', least: 1, most: 1 },
  flags: [
    { name: 'older-than', placeholder: 'TIME', help: 'only tiles stored before, e.g. 2026-01-31T12:00:00Z' },
    { name: 'dry-run', placeholder: null, help: 'print what would be deleted and delete nothing' },
    { name: 'json', placeholder: null, help: 'print JSON, for scripts' },
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal, { operands: [layer = ''] }) {
    const client = serverClientFor(flags);
    const dryRun = flags['dry-run'] !== undefined;
    const olderThan = flags['older-than'];
    const body = { dryRun, ...(olderThan !== undefined && { olderThan }) };
    const path = `/api/v1/layers/${encodeURIComponent(layer)}/truncate`;
    const answer = await client.post(path, body).catch(async (error: unknown) => {
      throw await withSuggestion(error, layer, client);
    });
    const { tiles, bytes, tileSets } = readAnswer(clearedSchema, answer);
    const what = `${amountOf(tiles, 'tile')}, ${sizeOf(bytes)}, in ${amountOf(tileSets.length, 'tile set')}`;
    terminal.out(
      flags.json === undefined
        ? `${dryRun ? 'Would delete' : 'Deleted'} ${what}\n`
        : `${JSON.stringify(answer)}\n`,
    );
    return 0;
  },
};
