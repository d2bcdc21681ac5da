import type { ApiAnswer } from '../app/server-answers.ts';
import { isoTime, systemClock } from '../lib/clock.ts';
import {
  CLIENT_FLAGS,
  type Command,
  type Flag,
  type FlagValues,
  flag,
  type Given,
  misuse,
  printed,
  type Terminal,
} from './command.ts';
import { watchTask } from './follow-task.ts';
import { amountOf, countOf, durationOf, sizeOf } from './format.ts';
import { momentIn } from './moment.ts';
import type { TaskDocument } from './progress-bar.ts';
import { readAnswer, type ServerClient, serverClientFor, withSuggestion } from './server-client.ts';
import { ORDER_FIELDS, ORDER_FLAGS, taskOrder } from './task-order.ts';

const TASKS = '/api/v1/tasks';

const FLAGS: readonly Flag[] = [
  ...ORDER_FLAGS,
  flag('dry-run', null, 'print the estimate and start nothing'),
  flag('no-wait', null, 'start the task and exit'),
  flag('json', null, 'print lines of JSON, for scripts'),
  ...CLIENT_FLAGS,
];

export const seed = taskCommand('seed', 'create the missing tiles of a layer');
export const reseed = taskCommand('reseed', 'create all tiles of a layer again');

const truncateTask = taskCommand('truncate', 'delete tiles of one grid set and format of a layer');
export const truncate: Command = {
  ...truncateTask,
  operands: { usage: 'LAYER | --layer LAYER', least: 0, most: 1 },
  flags: [
    flag('layer', 'NAME', 'the whole layer instead: as tilewarden clear NAME, which is preferred'),
    ...FLAGS,
  ],
  run: (flags, terminal, given) =>
    flags.layer === undefined ? truncatePart(flags, terminal, given) : truncateWhole(flags, terminal, given),
};

/** A task, for what the flags narrow the layer to. */
async function truncatePart(flags: FlagValues, terminal: Terminal, given: Given): Promise<number> {
  if (given.operands.length === 0)
    throw misuse('Missing argument. Usage: tilewarden truncate LAYER | --layer LAYER');
  return truncateTask.run(flags, terminal, given);
}

async function truncateWhole(flags: FlagValues, terminal: Terminal, given: Given): Promise<number> {
  const narrowing = ORDER_FLAGS.find(({ name }) => flags[name] !== undefined);
  if (narrowing || given.operands.length > 0) {
    throw misuse(
      `--layer removes all of a layer. For a part of it: tilewarden truncate ${flags.layer} --${narrowing?.name ?? 'zoom-start'} …`,
    );
  }
  terminal.err(`truncate --layer deletes all tiles of the layer, as does: tilewarden clear ${flags.layer}\n`);
  return clear.run(flags, terminal, { ...given, operands: [flags.layer ?? ''] });
}

function taskCommand(type: 'seed' | 'reseed' | 'truncate', what: string): Command {
  return {
    name: type,
    summary: `${what}; exit code 0 only when the task is done`,
    operands: { usage: 'LAYER', least: 1, most: 1 },
    flags: FLAGS,
    run: (flags, terminal, given) => runTask(type, flags, terminal, given),
  };
}

async function runTask(type: string, flags: FlagValues, terminal: Terminal, given: Given): Promise<number> {
  const [layer = ''] = given.operands;
  const order = taskOrder(type, layer, flags, given);
  const client = serverClientFor(flags, ORDER_FIELDS);
  if (flags['dry-run'] !== undefined) {
    const answer = await send(client, TASKS, layer, { ...order, dryRun: true });
    const estimate = readAnswer<Estimate>(answer, 'cachedTiles');
    const describe = type === 'truncate' ? describeTruncation : describeEstimate;
    return printed(terminal, flags, estimate, () => describe(estimate));
  }
  const task = readAnswer<TaskDocument>(await send(client, TASKS, layer, order), 'tilesTotal');
  if (flags['no-wait'] !== undefined) return printed(terminal, flags, task, () => started(task));
  return watchTask(task, client, terminal, flags.json !== undefined);
}

function send(client: ServerClient, path: string, layer: string, body: object): Promise<unknown> {
  return client.post(path, body).catch(async (error: unknown) => {
    throw await withSuggestion(error, layer, client);
  });
}

function started({ id, tilesTotal }: TaskDocument): string {
  return `Task ${id} has started: ${amountOf(tilesTotal, 'tile')}. Watch it: tilewarden tasks watch ${id}`;
}

type Estimate = Extract<ApiAnswer<'POST /api/v1/tasks'>, { metatiles: number }>;

function describeTruncation({ cachedTiles, cachedBytes }: Estimate): string {
  return `Would delete ${amountOf(cachedTiles, 'cached tile')}, ${sizeOf(cachedBytes)}; nothing was deleted.`;
}

function describeEstimate(estimate: Estimate): string {
  const { tiles, cachedTiles, metatiles, upstreamRequests, bytes, seconds } = estimate;
  const unknown = 'unknown before the first task of this kind';
  const cached = cachedTiles > 0 ? `, ${countOf(cachedTiles)} of them cached` : '';
  return [
    `Estimate: ${amountOf(tiles, 'tile')} in ${amountOf(metatiles, 'metatile')}${cached}; nothing was started.`,
    `  upstream requests  ${amountOf(upstreamRequests, 'request')} at most`,
    `  space              ${bytes === null ? unknown : `about ${sizeOf(bytes)}`}`,
    `  time               ${seconds === null ? unknown : `about ${durationOf(seconds)}`}`,
    ...shortages(estimate),
    '',
  ].join('\n');
}

function shortages({ quota, disk }: Estimate): readonly string[] {
  const lines: string[] = [];
  if (quota?.fits === false) {
    const which = quota.scope === 'layer' ? "the layer's quota" : 'the quota';
    lines.push(
      `Does not fit ${which}: ${sizeOf(quota.usedBytes)} of ${sizeOf(quota.limitBytes)} are used; tiles will be evicted.`,
    );
  }
  if (disk?.fits === false) lines.push(`Does not fit the disk: ${sizeOf(disk.freeBytes)} are free.`);
  return lines;
}

type Cleared = ApiAnswer<'POST /api/v1/layers/{layer}/truncate'>;

export const clear: Command = {
  name: 'clear',
  summary: 'delete all tiles of a layer: every grid set, format and parameter value',
  operands: { usage: 'LAYER', least: 1, most: 1 },
  flags: [
    flag('older-than', 'TIME', 'only tiles stored before, e.g. 7d, 12h or 2026-01-31T12:00:00Z'),
    flag('dry-run', null, 'print what would be deleted and delete nothing'),
    flag('json', null, 'print JSON, for scripts'),
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal, { operands: [layer = ''] }) {
    const client = serverClientFor(flags);
    const dryRun = flags['dry-run'] !== undefined;
    const before = momentIn('older-than', flags, -1, systemClock);
    const body = { dryRun, ...(before !== null && { olderThan: isoTime(before) }) };
    const path = `/api/v1/layers/${encodeURIComponent(layer)}/truncate`;
    const answer = await send(client, path, layer, body);
    const { tiles, bytes, tileSets } = readAnswer<Cleared>(answer, 'tileSets');
    const what = `${amountOf(tiles, 'tile')}, ${sizeOf(bytes)}, in ${amountOf(tileSets.length, 'tile set')}`;
    return printed(terminal, flags, answer, () => `${dryRun ? 'Would delete' : 'Deleted'} ${what}`);
  },
};
