import type { ServerResponse } from 'node:http';
import type { Caller } from '../../access/caller.ts';
import { layerBelow } from '../../catalog/incarnations.ts';
import { writeJson } from '../../lib/write-json.ts';
import type { Task } from '../../tasks/task.ts';
import { keyForRequest } from '../../tasks/task-author.ts';
import { type Answer, jsonAnswer, pairs } from '../answer.ts';
import { CallerPlaces } from '../door/caller-places.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { isPublic, mayLookAt } from '../door/layer-visibility.ts';
import { authorIn, type ChangeNote, callerName, createdAnswer, type Exchange, idIn } from '../exchange.ts';
import type { HttpLimits } from '../limits.ts';
import { HttpProblem } from '../problems.ts';
import type { Handler, Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { isDryRun, readBody, readQuery } from '../wire/read-body.ts';
import {
  refuseUnknownNames,
  taskBody,
  taskDocument,
  taskDraftOf,
  withoutUpstream,
} from '../wire/task-document.ts';
import { REPEATABLE, taskFilterOf, taskListQuery } from '../wire/task-filter.ts';
import { estimateOf } from './estimate.ts';

const HIGHEST_LIMIT = 500;

/** `/api/v1/tasks` and what lies below it. */
export function taskRoutes({ catalog, tasks, quota, clock }: RouteDeps): readonly Route[] {
  const path = '/api/v1/tasks';
  const one = `${path}/{id}`;
  const view = createTaskView({ catalog, clock });
  return [
    { method: 'GET', path, role: 'viewer', handler: list },
    { method: 'POST', path, role: 'operator', handler: create, asksOnly: isDryRun },
    { method: 'GET', path: one, role: 'viewer', handler: show },
    { method: 'POST', path: `${one}/cancel`, role: 'operator', handler: cancel },
    { method: 'POST', path: `${one}/pause`, role: 'operator', handler: pause },
    { method: 'POST', path: `${one}/resume`, role: 'operator', handler: resume },
    { method: 'POST', path: `${one}/retry`, role: 'operator', handler: retry },
  ];

  async function list(exchange: Exchange): Promise<Answer> {
    const {
      before,
      after = before,
      limit: wanted,
      ...fields
    } = readQuery(exchange, taskListQuery, REPEATABLE);
    const limit = Math.min(Math.max(wanted, 1), HIGHEST_LIMIT);
    const filter = taskFilterOf(fields);
    const page = { ...filter, limit, ...(after !== undefined && { afterId: after }) };
    const [found, counts] = await Promise.all([tasks.list(page), tasks.count(filter)]);
    const next = found.length === limit ? (found.at(-1)?.id ?? null) : null;
    const shown = await Promise.all(found.map((task) => withEvictions(exchange, task)));
    return jsonAnswer({ tasks: shown, counts, nextAfter: next, nextBefore: next });
  }

  async function create(exchange: Exchange): Promise<Answer> {
    const { layer, type, dryRun, idempotencyKey, ...body } = readBody(exchange, taskBody);
    const draft = { layer, type, ...taskDraftOf(body) };
    refuseUnknownNames(catalog, draft);
    refuseForeignLayer(exchange.caller, draft.layer);
    if (dryRun) return jsonAnswer(await estimateOf({ tasks, quota }, draft));
    const key = idempotencyKey === undefined ? {} : { key: keyForRequest(idempotencyKey, draft) };
    return created(exchange, await tasks.create({ ...draft, ...key }, authorIn(exchange)));
  }

  async function show(exchange: Exchange): Promise<Answer> {
    return jsonAnswer(await withEvictions(exchange, await taskOf(exchange)));
  }

  function cancel(exchange: Exchange): Promise<Answer> {
    return change(exchange, 'stopped', 'is over already', async (id) => {
      const stopped = await tasks.cancel({ ids: [id] }, callerName(exchange));
      return stopped.length === 0 ? null : tasks.get(id);
    });
  }

  function pause(exchange: Exchange): Promise<Answer> {
    return change(exchange, 'paused', 'cannot be paused', (id) => tasks.pause(id));
  }

  function resume(exchange: Exchange): Promise<Answer> {
    return change(exchange, 'resumed', 'is not paused', (id) => tasks.resume(id));
  }

  async function retry(exchange: Exchange): Promise<Answer> {
    const { id } = await ownTask(exchange);
    const retried = await tasks.retryFailed(id, authorIn(exchange));
    if (retried) return created(exchange, retried);
    const why = `Task ${id} has nothing to retry: it is not over, or nothing in it failed.`;
    throw new HttpProblem('conflict', why);
  }

  /** What quotas removed while the task ran: a seed into a full cache is seen to displace other tiles. */
  async function withEvictions(exchange: Exchange, task: Task): Promise<object> {
    const document = view(exchange, task);
    if (task.startedAt === null) return document;
    const until = task.endedAt ?? Number.MAX_SAFE_INTEGER;
    const { tiles, bytes } = await quota.evictedBetween(task.startedAt, until);
    return { ...document, evictedTiles: tiles, evictedBytes: bytes };
  }

  async function change(
    exchange: Exchange,
    done: string,
    otherwise: string,
    apply: (id: number) => Promise<Task | null>,
  ): Promise<Answer> {
    const { id } = await ownTask(exchange);
    const changed = await apply(id);
    if (!changed) throw new HttpProblem('conflict', `Task ${id} ${otherwise}.`);
    exchange.change = changeOf(changed, `${done} task ${id}, a`);
    return jsonAnswer(view(exchange, changed));
  }

  async function taskOf(exchange: Exchange): Promise<Task> {
    const task = await tasks.get(idIn(exchange));
    if (task) return task;
    throw new HttpProblem('task-unknown', 'There is no such task.');
  }

  async function ownTask(exchange: Exchange): Promise<Task> {
    const task = await taskOf(exchange);
    refuseForeignLayer(exchange.caller, task.request.layer);
    return task;
  }

  function created(exchange: Exchange, task: Task): Answer {
    exchange.change = changeOf(task, 'started a');
    return createdAnswer(exchange, `${path}/${task.id}`, view(exchange, task));
  }
}

/** A caller that may not see the layer does not learn what its map server answered, and from where. */
function createTaskView({ catalog, clock }: Pick<RouteDeps, 'catalog' | 'clock'>) {
  /** With the layers that it is drawn from; a circle ends. */
  const isSeenBy = (caller: Caller, name: string, passed: ReadonlySet<string> = new Set()): boolean => {
    const bound = passed.has(name) ? null : catalog.layer(name);
    if (!bound) return true;
    if (!isPublic(bound.layer) && !mayLookAt(caller, bound.layer)) return false;
    const below = layerBelow(bound.declared?.source);
    return below === null || isSeenBy(caller, below.layer, new Set([...passed, name]));
  };
  return ({ caller }: Exchange, task: Task) => {
    const isSeen = !caller || isSeenBy(caller, task.request.layer);
    return taskDocument(isSeen ? task : withoutUpstream(task), clock.now());
  };
}

/** For the audit log. */
function changeOf({ id, state, request }: Task, done: string): ChangeNote {
  const { layer, type, zoomStart, zoomStop } = request;
  const zooms = zoomStart === zoomStop ? `zoom ${zoomStart}` : `zoom ${zoomStart}–${zoomStop}`;
  const summary = `${done} ${type} of ${layer} (${zooms})`;
  return { target: `layer:${layer}`, after: { task: id, type, state }, summary };
}

const HEARTBEAT_MS = 15_000;
/** What may wait for a caller that reads slowly. Beyond it the stream ends; the caller comes back with the last id it saw. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** How soon a caller comes back when a stream ends. */
const RETRY_MS = 2000;

/** `/api/v1/events`: changes of tasks as server-sent events. */
export function createEventStream(
  { tasks, log, ...deps }: RouteDeps,
  { eventStreams, eventStreamsOfOne }: HttpLimits,
): Handler {
  const places = new CallerPlaces(eventStreams, eventStreamsOfOne);
  const view = createTaskView(deps);

  return (exchange) => {
    const after = lastEventId(exchange);
    const { account } = authorIn(exchange);
    if (!places.hasRoom(account)) {
      throw new HttpProblem('too-many-requests', 'Too many event streams are open.', ['Retry-After', '10']);
    }
    return {
      status: 200,
      headers: pairs({
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      }),
      body: (response, signal) => {
        response.once('close', places.take(account));
        void stream(exchange, response, after, signal);
      },
    };
  };

  async function stream(
    exchange: Exchange,
    response: ServerResponse,
    after: number | null,
    signal: AbortSignal,
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
    try {
      unsubscribe = await tasks.subscribe(after, ({ id, task }) =>
        writeOrEnd(response, `id: ${id}\nevent: task\ndata: ${writeJson(view(exchange, task))}\n\n`),
      );
      if (response.closed) unsubscribe();
    } catch (error) {
      log.warn({ err: error }, 'Task events cannot be sent');
      response.end();
    }
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

/** A browser sends the header when it comes back; a script may put the id into the query. Null: from now on. */
function lastEventId(exchange: Exchange): number | null {
  const header = exchange.headers['last-event-id'];
  const text = header === undefined ? new URLSearchParams(exchange.query).get('lastEventId') : String(header);
  if (text === null || text === '') return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new HttpProblem('header-invalid', 'Last-Event-ID must be the id of an event.');
}
