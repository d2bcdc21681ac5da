import type { Task } from '../../tasks/task.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { callerName, createdAnswer, type Exchange, idIn } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { isDryRun, readBody, readQuery } from '../wire/read-body.ts';
import {
  refuseUnknownNames,
  taskBody,
  taskDocument,
  taskDraftOf,
  taskListQuery,
} from '../wire/task-document.ts';

const HIGHEST_LIMIT = 500;

/** `/api/v1/tasks` and what lies below it. */
export function taskRoutes({ catalog, tasks, quota }: RouteDeps): readonly Route[] {
  const path = '/api/v1/tasks';
  const one = `${path}/{id}`;
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
    const { state, before, limit: wanted, ...asked } = readQuery(exchange, taskListQuery);
    const limit = Math.min(Math.max(wanted, 1), HIGHEST_LIMIT);
    const found = await tasks.list({
      ...asked,
      limit,
      ...(state && { states: state }),
      ...(before !== undefined && { beforeId: before }),
    });
    const next = found.length === limit ? (found.at(-1)?.id ?? null) : null;
    return jsonAnswer({ tasks: await Promise.all(found.map(withEvictions)), nextBefore: next });
  }

  async function create(exchange: Exchange): Promise<Answer> {
    const { layer, type, dryRun, ...body } = readBody(exchange, taskBody);
    const draft = { layer, type, ...taskDraftOf(body) };
    refuseUnknownNames(catalog, draft);
    refuseForeignLayer(exchange.caller, draft.layer);
    if (dryRun) return jsonAnswer(await tasks.estimate(draft));
    return created(exchange, await tasks.create(draft, callerName(exchange)));
  }

  async function show(exchange: Exchange): Promise<Answer> {
    return jsonAnswer(await withEvictions(await taskOf(exchange)));
  }

  function cancel(exchange: Exchange): Promise<Answer> {
    return change(exchange, 'is over already', async (id) => {
      const selector = { id, states: ['pending', 'running', 'paused'] } as const;
      const stopped = await tasks.cancel(selector, callerName(exchange));
      return stopped.length === 0 ? null : tasks.get(id);
    });
  }

  function pause(exchange: Exchange): Promise<Answer> {
    return change(exchange, 'cannot be paused', (id) => tasks.pause(id));
  }

  function resume(exchange: Exchange): Promise<Answer> {
    return change(exchange, 'is not paused', (id) => tasks.resume(id));
  }

  async function retry(exchange: Exchange): Promise<Answer> {
    const { id } = await ownTask(exchange);
    const retried = await tasks.retryFailed(id, callerName(exchange));
    if (retried) return created(exchange, retried);
    const why = `Task ${id} has nothing to retry: it is not over, or nothing in it failed.`;
    throw new HttpProblem('conflict', why);
  }

  /** What quotas removed while the task ran: a seed into a full cache is seen to displace other tiles. */
  async function withEvictions(task: Task): Promise<object> {
    const document = taskDocument(task);
    if (task.startedAt === null) return document;
    const until = task.endedAt ?? Number.MAX_SAFE_INTEGER;
    const { tiles, bytes } = await quota.evictedBetween(task.startedAt, until);
    return { ...document, evictedTiles: tiles, evictedBytes: bytes };
  }

  async function change(
    exchange: Exchange,
    otherwise: string,
    apply: (id: number) => Promise<Task | null>,
  ): Promise<Answer> {
    const { id } = await ownTask(exchange);
    const changed = await apply(id);
    if (!changed) throw new HttpProblem('conflict', `Task ${id} ${otherwise}.`);
    exchange.change = changeOf(changed);
    return jsonAnswer(taskDocument(changed));
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
    exchange.change = changeOf(task);
    return createdAnswer(exchange, `${path}/${task.id}`, taskDocument(task));
  }
}

/** For the audit log. */
function changeOf({ id, state, request: { layer, type } }: Task): Exchange['change'] {
  return { target: `layer:${layer}`, after: { task: id, type, state } };
}
