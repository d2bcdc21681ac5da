import type { ApiResponse } from '../app.ts';
import { isoTime, systemClock } from '../lib/clock.ts';
import { pagesInLog, type UsedTileSet } from './access-log.ts';
import {
  type Arguments,
  CLIENT_FLAGS,
  type Command,
  CommandFailure,
  type Flag,
  type FlagValues,
  flag,
  misuse,
  momentIn,
  printed,
  type Terminal,
} from './command.ts';
import { type TaskDocument, watchTask } from './follow-task.ts';
import { countText, durationText, plural, sizeText } from './format.ts';
import { readResponse, type ServerClient, serverClientFor, withSuggestion } from './server-client.ts';
import { boundsHint, looksLikeDegrees, ORDER_FIELDS, ORDER_FLAGS, taskOrder } from './task-order.ts';

type ShownLayer = ApiResponse<'GET /api/v1/layers/{layer}'>;

const TASKS = '/api/v1/tasks';
const DEFAULT_SHARE = 0.95;
/** An estimate whose bounds differ by a smaller factor is printed as one number. */
const WIDE_RANGE = 1.5;

const FLAGS: readonly Flag[] = [
  ...ORDER_FLAGS,
  flag('dry-run', null, 'print the estimate and start nothing'),
  flag('no-wait', null, 'start the task and exit'),
  flag('json', null, 'print lines of JSON, for scripts'),
  ...CLIENT_FLAGS,
];

const BY_USE: readonly Flag[] = [
  flag('order', 'ORDER', 'zoom (default), or use: the most used pages and their children first'),
  flag('share', 'SHARE', 'with --order use: of all use, until it is covered (0.95)'),
  flag(
    'from-log',
    'FILE',
    'use as in an access log, Combined or JSON, instead of the recorded one; -: standard input',
  ),
];

export const seed = taskCommand('seed', 'create the missing tiles of a layer', BY_USE);
export const reseed = taskCommand('reseed', 'create all tiles of a layer again', BY_USE);

export const truncate = taskCommand('truncate', 'delete tiles of one grid set and format of a layer');

function taskCommand(
  type: 'seed' | 'reseed' | 'truncate',
  what: string,
  further: readonly Flag[] = [],
): Command {
  return {
    name: type,
    summary: `${what}; exit code 0 only when the task is done`,
    operands: { usage: 'LAYER', least: 1, most: 1 },
    flags: [...further, ...FLAGS],
    run: (flags, terminal, args) => runTask(type, flags, terminal, args),
  };
}

async function runTask(
  type: string,
  flags: FlagValues,
  terminal: Terminal,
  args: Arguments,
): Promise<number> {
  const [layer = ''] = args.operands;
  const order = { ...taskOrder(type, layer, flags, args), ...useOrder(flags) };
  const client = serverClientFor(flags, ORDER_FIELDS);
  await warnOfDegrees(client, order, terminal);
  if (flags['from-log'] === undefined) return runOrder(client, order, flags, terminal);
  const orders = await ordersFromLog(client, order, flags['from-log'], terminal);
  let code = 0;
  for (const each of orders) code = Math.max(code, await runOrder(client, each, flags, terminal));
  return code;
}

async function warnOfDegrees(
  client: ServerClient,
  order: ReturnType<typeof taskOrder>,
  terminal: Terminal,
): Promise<void> {
  if (!looksLikeDegrees(order)) return;
  const path = `/api/v1/layers/${encodeURIComponent(order.layer)}`;
  const layer = await client.get(path).catch(() => null);
  const hint = layer && boundsHint(order, readResponse<ShownLayer>(layer, 'gridSets').gridSets);
  if (hint !== null) terminal.err(`${hint}\n`);
}

interface Order {
  readonly layer: string;
  readonly type: string;
}

/** An order for each tile set in the log that the flags allow, the most used first. */
async function ordersFromLog(
  client: ServerClient,
  order: Order & Partial<UsedTileSet['set']>,
  file: string,
  terminal: Terminal,
): Promise<readonly Order[]> {
  const { requests, tiles, sets } = await pagesInLog(client, file, order.layer);
  const { gridSet, format, parameters } = order;
  const selection = sets.filter(
    ({ set }) =>
      (gridSet ?? set.gridSet) === set.gridSet &&
      (format ?? set.format) === set.format &&
      Object.entries(parameters ?? {}).every(([name, value]) => set.parameters[name] === value),
  );
  terminal.err(`${countText(tiles)} of ${plural(requests, 'request')} are for tiles of ${order.layer}.\n`);
  const missing = requests === 0 ? 'answered GET request in Combined Log Format or JSON' : 'such tiles';
  if (selection.length === 0)
    throw new CommandFailure(`--from-log ${file} has no ${missing}: nothing to do.`);
  for (const { set, requests: all, uses } of selection) {
    const sent = uses.reduce((sum, [, , , times]) => sum + times, 0);
    if (sent < all)
      terminal.err(
        `The ${countText(uses.length)} most used pages of ${set.format} have ${percentOf(sent / all)} of them.\n`,
      );
  }
  return selection.map(({ set, uses }) => ({ ...order, ...set, order: 'use', uses }));
}

function percentOf(share: number): string {
  return `${Math.floor(share * 1000) / 10} %`;
}

function useOrder({ order, share, 'from-log': log }: FlagValues) {
  if (order !== undefined && order !== 'zoom' && order !== 'use')
    throw misuse(`--order must be zoom or use, not ${order}.`);
  const byUse = order === 'use' || log !== undefined;
  if (share !== undefined && !byUse) throw misuse('--share requires --order use or --from-log.');
  const part = Number(share ?? DEFAULT_SHARE);
  if (!(part > 0 && part <= 1)) throw misuse(`--share must be above 0 and at most 1, not ${share}.`);
  return byUse ? { order: 'use', share: part } : {};
}

async function runOrder(
  client: ServerClient,
  order: Order,
  flags: FlagValues,
  terminal: Terminal,
): Promise<number> {
  const { layer, type } = order;
  if (flags['dry-run'] !== undefined) {
    const answer = await send(client, TASKS, layer, { ...order, dryRun: true });
    const estimate = readResponse<Estimate>(answer, 'cachedTiles');
    const describe = type === 'truncate' ? describeTruncation : describeEstimate;
    return printed(terminal, flags, estimate, () => describe(estimate, type));
  }
  const task = readResponse<TaskDocument>(await send(client, TASKS, layer, order), 'tilesTotal');
  if (flags['no-wait'] !== undefined) return printed(terminal, flags, task, () => started(task));
  return watchTask(task, client, terminal, flags.json !== undefined);
}

function send(client: ServerClient, path: string, layer: string, body: object): Promise<unknown> {
  return client.post(path, body).catch(async (error: unknown) => {
    throw await withSuggestion(error, layer, client);
  });
}

function started({ id, tilesTotal }: TaskDocument): string {
  return `Task ${id} has started: ${plural(tilesTotal, 'tile')}. Watch it: tilewarden tasks watch ${id}`;
}

type Estimate = Extract<ApiResponse<'POST /api/v1/tasks'>, { metatiles: number }>;

function describeTruncation({ cachedTiles, cachedBytes }: Estimate): string {
  return `Would delete ${plural(cachedTiles, 'cached tile')}, ${sizeText(cachedBytes)}; nothing was deleted.`;
}

function describeEstimate(estimate: Estimate, type: string): string {
  const { tiles, cachedTiles, staleTiles, metatiles, upstreamRequests, seconds, coveredUse } = estimate;
  const unknown = 'unknown before the first task of this kind';
  const stale = type === 'seed' && staleTiles > 0 ? ` (${countText(staleTiles)} expired or invalidated)` : '';
  const cached = cachedTiles > 0 ? `, ${countText(cachedTiles)} of them cached${stale}` : '';
  return [
    `Estimate: ${plural(tiles, 'tile')} in ${plural(metatiles, 'metatile')}${cached}; nothing was started.`,
    `  upstream requests  ${plural(upstreamRequests, 'request')} at most`,
    ...(coveredUse === null ? [] : [`  use                ${percentOf(coveredUse)} covered`]),
    `  added space        ${addedSpace(estimate) ?? unknown}`,
    `  time               ${seconds === null ? unknown : `about ${durationText(seconds)}`}`,
    ...shortages(estimate),
    '',
  ].join('\n');
}

function addedSpace({ addedBytes }: Estimate): string | null {
  if (addedBytes === null) return null;
  const { least, most } = addedBytes;
  if (most <= least * WIDE_RANGE) return `about ${sizeText(most)}`;
  return `${sizeText(least)} to ${sizeText(most)}: few tiles are cached to go by`;
}

function shortages({ quota, disk }: Estimate): readonly string[] {
  const lines: string[] = [];
  if (quota?.fits === false) {
    const which = quota.scope === 'layer' ? "the layer's quota" : 'the quota';
    lines.push(
      `Does not fit ${which}: ${sizeText(quota.usedBytes)} of ${sizeText(quota.limitBytes)} are used; tiles will be evicted.`,
    );
  }
  if (disk?.fits === false) lines.push(`Does not fit the disk: ${sizeText(disk.freeBytes)} are free.`);
  return lines;
}

type Cleared = ApiResponse<'POST /api/v1/layers/{layer}/truncate'>;

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
    const { tiles, bytes, tileSets } = readResponse<Cleared>(answer, 'tileSets');
    const what = `${plural(tiles, 'tile')}, ${sizeText(bytes)}, in ${plural(tileSets.length, 'tile set')}`;
    return printed(terminal, flags, answer, () => `${dryRun ? 'Would delete' : 'Deleted'} ${what}`);
  },
};
