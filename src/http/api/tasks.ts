/** `/api/v1/tasks` with estimates, and the event stream `/api/v1/events`. */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { boundLayer } from '../../catalog/catalog.ts';
import { layersBelow } from '../../catalog/incarnations.ts';
import { invalid } from '../../domain/errors.ts';
import type { Layer } from '../../domain/layer.ts';
import { writeJson } from '../../lib/write-json.ts';
import type { TaskEstimate } from '../../tasks/estimate-task.ts';
import { EVERY_FORMAT, type Task } from '../../tasks/task.ts';
import { keyForRequest, type TaskDraft } from '../../tasks/task-draft.ts';
import { isPublic, mayView, requireLayerScope } from '../auth/layer-visibility.ts';
import { authorIn, type ChangeNote, type Context, createdResponse, idIn } from '../context.ts';
import { HttpProblem, tooMany } from '../problems.ts';
import { jsonResponse, pairs } from '../response.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { withTaskShape } from './areas.ts';
import {
  refuseUnknownNames,
  type taskBody,
  taskDocument,
  taskDraftOf,
  withoutUpstream,
} from './task-document.ts';
import { taskFilterOf, type taskListQuery } from './task-filter.ts';
import { count } from './values.ts';

const MAX_PAGE_SIZE = 500;

type OneTask = Call<{ params: 'id' }>;

export async function listTasks({ query, caller }: Call<{ query: typeof taskListQuery }>, deps: ApiDeps) {
  const { after, limit: pageSize, ...fields } = query;
  const limit = Math.min(Math.max(pageSize, 1), MAX_PAGE_SIZE);
  const filter = taskFilterOf(fields);
  const page = { ...filter, limit, ...(after !== undefined && { afterId: after }) };
  const [rows, counts] = await Promise.all([deps.tasks.list(page), deps.tasks.count(filter)]);
  const next = rows.length === limit ? (rows.at(-1)?.id ?? null) : null;
  const tasks = await Promise.all(rows.map((task) => withEvictions(caller, task, deps)));
  return { tasks, counts, nextAfter: next };
}

export async function createTask(call: Call<{ body: typeof taskBody }>, deps: ApiDeps) {
  const { layer, type, dryRun, idempotencyKey, every, ...fields } = call.body;
  requireLayerScope(call.context, layer);
  const draft = { layer, type, ...taskDraftOf(await withTaskShape(layer, fields, deps)) };
  refuseUnknownNames(deps.catalog, draft);
  if (every) return createTasks(call, draft, deps);
  if (dryRun) return jsonResponse(await estimateOf(deps, draft));
  const key = idempotencyKey === undefined ? {} : { key: keyForRequest(idempotencyKey, draft) };
  return createdTask(call, await deps.tasks.create({ ...draft, ...key }, authorIn(call)), deps);
}

async function createTasks(call: Call<{ body: typeof taskBody }>, draft: TaskDraft, deps: ApiDeps) {
  const { dryRun, idempotencyKey } = call.body;
  if (draft.format !== undefined || draft.parameters !== undefined || idempotencyKey !== undefined)
    throw invalid('every excludes format, parameters and idempotencyKey.');
  const drafts = everyDraft(boundLayer(deps.catalog, draft.layer).layer, draft);
  const [first = draft] = drafts;
  if (dryRun) return jsonResponse(await estimateOf(deps, first, drafts.length));
  const [task] = await deps.tasks.createAll(drafts, authorIn(call));
  if (!task) throw new Error('no task was created');
  return createdTask(call, task, deps);
}

export async function showTask(call: OneTask, deps: ApiDeps) {
  const task = await requestedTask(call, deps);
  const [document, zooms] = await Promise.all([
    withEvictions(call.caller, task, deps),
    deps.tasks.progressByZoom(task),
  ]);
  return { ...document, zooms };
}

export const cancelTask = stateChange('stopped', 'is over already', async (id, { tasks }, by) => {
  const stopped = await tasks.cancel({ ids: [id] }, by);
  return stopped.length === 0 ? null : tasks.get(id);
});
export const pauseTask = stateChange('paused', 'cannot be paused', (id, { tasks }) => tasks.pause(id));
export const resumeTask = stateChange('resumed', 'is not paused', (id, { tasks }) => tasks.resume(id));

export async function retryTask(call: OneTask, deps: ApiDeps) {
  const { id } = await ownTask(call, deps);
  const retried = await deps.tasks.retryFailed(id, authorIn(call));
  if (retried) return createdTask(call, retried, deps);
  const why = `Task ${id} has nothing to retry: it is not over, or nothing in it failed.`;
  throw new HttpProblem('conflict', why);
}

/** Adds evictions during the task: they show that a seed into a full cache displaces other tiles. */
async function withEvictions(caller: Caller, task: Task, deps: ApiDeps): Promise<object> {
  const document = shownTask(caller, task, deps);
  if (task.startedAt === null) return document;
  const until = task.endedAt ?? Number.MAX_SAFE_INTEGER;
  const { tiles, bytes } = await deps.quota.evictedBetween(task.startedAt, until);
  return { ...document, evictedTiles: tiles, evictedBytes: bytes };
}

function stateChange(
  verb: string,
  refusal: string,
  apply: (id: number, deps: ApiDeps, by: string) => Promise<Task | null>,
) {
  return async (call: OneTask, deps: ApiDeps) => {
    const { id } = await ownTask(call, deps);
    const changed = await apply(id, deps, call.caller.name);
    if (!changed) throw new HttpProblem('conflict', `Task ${id} ${refusal}.`);
    call.note(taskChange(changed, `${verb} task ${id}, a`));
    return shownTask(call.caller, changed, deps);
  };
}

async function requestedTask(call: OneTask, { tasks }: ApiDeps): Promise<Task> {
  const task = await tasks.get(idIn(call));
  if (task) return task;
  throw new HttpProblem('task-unknown', 'There is no such task.');
}

async function ownTask(call: OneTask, deps: ApiDeps): Promise<Task> {
  const task = await requestedTask(call, deps);
  requireLayerScope(call.context, task.request.layer);
  return task;
}

function createdTask({ context, caller, note }: Call, task: Task, deps: ApiDeps) {
  note(taskChange(task, 'started a'));
  return createdResponse(context, `/api/v1/tasks/${task.id}`, shownTask(caller, task, deps));
}

function shownTask(caller: Caller, task: Task, { catalog, clock }: ApiDeps) {
  const mayViewAll = mayViewParts(caller, task.request.layer, catalog);
  return taskDocument(mayViewAll ? task : withoutUpstream(task), clock.now());
}

/**
 * Whether the caller may view the layer and all that it is drawn from; a removed layer is for administrators only.
 * `above` stops at a cycle.
 */
function mayViewParts(
  caller: Caller,
  name: string,
  catalog: ApiDeps['catalog'],
  above: ReadonlySet<string> = new Set(),
): boolean {
  if (above.has(name)) return true;
  const bound = catalog.layer(name);
  if (!bound) return caller.role === 'admin';
  if (!isPublic(bound.layer) && !mayView(caller, bound.layer)) return false;
  const below = layersBelow(bound.declared?.source);
  return below.every(({ layer }) => mayViewParts(caller, layer, catalog, new Set([...above, name])));
}

function taskChange({ id, state, request }: Task, verb: string): ChangeNote {
  const { layer, type, zoomStart, zoomStop } = request;
  const zooms = zoomStart === zoomStop ? `zoom ${zoomStart}` : `zoom ${zoomStart}–${zoomStop}`;
  const summary = `${verb} ${type} of ${layer} (${zooms})`;
  return { target: `layer:${layer}`, after: { task: id, type, state }, summary };
}

const HEARTBEAT_MS = 15_000;
/** For a slow client. Above this the stream is cut off, and the client reconnects with its last event id. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** The field `retry` of the stream: the client's delay before it reconnects. */
const RETRY_MS = 2000;

export function streamEvents({ context, caller }: Call, deps: ApiDeps) {
  const after = lastEventId(context);
  const { eventPlaces } = deps;
  const { account } = authorIn({ caller });
  if (!eventPlaces.hasRoom(account)) throw tooMany('Too many event streams are open.', 10);
  return {
    status: 200,
    headers: pairs({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    }),
    body: (response: ServerResponse, signal: AbortSignal) => {
      response.once('close', eventPlaces.take(account));
      void stream(caller, response, after, signal, deps);
    },
  };
}

async function stream(
  caller: Caller,
  response: ServerResponse,
  after: number | null,
  signal: AbortSignal,
  deps: ApiDeps,
): Promise<void> {
  response.write(`retry: ${RETRY_MS}\n\n`);
  const heartbeat = setInterval(() => writeOrEnd(response, ': alive\n\n'), HEARTBEAT_MS);
  const end = () => response.end();
  let unsubscribe = () => {};
  response.once('close', () => {
    clearInterval(heartbeat);
    signal.removeEventListener('abort', end);
    unsubscribe();
  });
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    unsubscribe = await deps.tasks.subscribe(after, ({ id, task }) => {
      const data = writeJson(shownTask(caller, task, deps));
      writeOrEnd(response, `id: ${id}\nevent: task\ndata: ${data}\n\n`);
    });
    if (response.closed) unsubscribe();
  } catch (error) {
    deps.log.warn({ err: error }, 'task events cannot be sent');
    response.end();
  }
}

function writeOrEnd(response: ServerResponse, frame: string): void {
  if (response.writableEnded) return;
  if (response.writableLength > MAX_UNREAD_BYTES) {
    response.destroy();
    return;
  }
  response.write(frame);
}

export const eventsQuery = z.strictObject({
  lastEventId: z.string().exactOptional().describe('As the header Last-Event-ID: events after this one'),
});

/** From the header that a browser sends when it reconnects, or from the query. Null: only new events. */
function lastEventId(context: Context): number | null {
  const header = context.headers['last-event-id'];
  const text = header === undefined ? new URLSearchParams(context.query).get('lastEventId') : String(header);
  if (text === null || text === '') return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new HttpProblem('header-invalid', 'Last-Event-ID must be the id of an event.');
}

/** Each combination becomes a task; more are usually a mistake. */
const MAX_COMBINATIONS = 1000;

/** A draft for each format and listed parameter value (without a list: the default); a truncation has one for all. */
function everyDraft(layer: Layer, draft: TaskDraft): readonly TaskDraft[] {
  if (draft.type === 'truncate') return [{ ...draft, format: EVERY_FORMAT }];
  const lists = layer.parameters.map(({ name, defaultValue, values }) => {
    const others = (values ?? []).filter((value) => value !== defaultValue);
    return { name, values: [null, ...others] };
  });
  const count = lists.reduce((product, { values }) => product * values.length, layer.formats.length);
  if (count > MAX_COMBINATIONS)
    throw invalid(`every would be ${count} tasks, and at most ${MAX_COMBINATIONS} are allowed.`);
  return lists.reduce<readonly TaskDraft[]>(
    (drafts, { name, values }) =>
      drafts.flatMap((one) =>
        values.map((value) =>
          value === null ? one : { ...one, parameters: new Map([...(one.parameters ?? []), [name, value]]) },
        ),
      ),
    layer.formats.map(({ mediaType }) => ({ ...draft, format: mediaType })),
  );
}

const fits = z
  .boolean()
  .nullable()
  .describe('Null while the size of the tiles is unknown, or too uncertain to tell');

const estimated = {
  tiles: count.describe('Tiles of the request; of a truncate only the cached ones'),
  cachedTiles: count.describe('Cached tiles of the request'),
  cachedBytes: count,
  staleTiles: count.describe('Cached tiles that a seed renews: expired or invalidated'),
  metatiles: count,
};

export const estimateResponse = z.object({
  ...estimated,
  upstreamRequests: count,
  bytes: count.nullable().describe('Size of all tiles of the request, cached ones included; null: unknown'),
  addedBytes: z
    .object({ least: count, most: count })
    .nullable()
    .describe('Size of the tiles to add; a range where few tiles of a zoom are cached'),
  zooms: z.array(z.object({ z: z.number().int(), ...estimated })).describe('The same by zoom'),
  seconds: z.number().nullable(),
  coveredUse: z.number().nullable().describe('With order use: share of all use, by at most 3,000 pages'),
  quota: z
    .object({ scope: z.enum(['global', 'layer']), limitBytes: count, usedBytes: count, fits })
    .nullable()
    .describe('The quota that leaves the least room; null: none is enforced'),
  disk: z
    .object({ freeBytes: count, fits })
    .nullable()
    .describe("Of the layer's store; null: the store has no disk of its own"),
});

/** `combinations`: the number of tasks, one for each combination of format and parameters. */
async function estimateOf({ tasks, quota }: ApiDeps, draft: TaskDraft, combinations = 1): Promise<object> {
  const { disk, ...estimate } = await tasks.estimate(draft, combinations);
  const { addedBytes: added } = estimate;
  const limit = await quota.roomFor(draft.layer);
  return {
    ...estimate,
    quota: limit && { ...limit, fits: fitsInto(limit.limitBytes - limit.usedBytes, added) },
    disk: disk && { freeBytes: disk.freeBytes, fits: fitsInto(usableBytes(disk), added) },
  };
}

function fitsInto(room: number, added: TaskEstimate['addedBytes']): boolean | null {
  if (!added) return null;
  if (Number(added.most) <= room) return true;
  return Number(added.least) > room ? false : null;
}

/** Bytes that may still be stored: `minFreePercent` of the disk stay free. */
function usableBytes({ freeBytes, freePercent, minFreePercent }: NonNullable<TaskEstimate['disk']>): number {
  return freePercent <= minFreePercent ? 0 : freeBytes * (1 - minFreePercent / freePercent);
}
