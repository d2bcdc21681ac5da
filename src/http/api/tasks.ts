import { mayWorkOn } from '../../access/caller.ts';
import type { Task } from '../../tasks/task.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { callerName, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { isDryRun, readBody } from '../wire/read-body.ts';
import { taskDocument } from '../wire/task-document.ts';
import { refuseUnknownNames, taskBody, taskDraftOf } from '../wire/task-request.ts';
import { readTaskFilter } from './task-query.ts';

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

  async function list({ query }: Exchange): Promise<Answer> {
    const filter = readTaskFilter(query);
    const found = await tasks.list(filter);
    const next = found.length === filter.limit ? (found.at(-1)?.id ?? null) : null;
    return jsonAnswer({ tasks: await Promise.all(found.map(withEvictions)), nextBefore: next });
  }

  async function create(exchange: Exchange): Promise<Answer> {
    const { layer, type, dryRun, ...body } = readBody(exchange, taskBody);
    const draft = { layer, type, ...taskDraftOf(body) };
    refuseUnknownNames(catalog, draft);
    if (exchange.caller) refuseForeignLayer(exchange.caller, draft.layer);
    if (dryRun) return jsonAnswer(await tasks.estimate(draft));
    return createdAnswer(exchange, await tasks.create(draft, callerName(exchange)));
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
    if (retried) return createdAnswer(exchange, retried);
    throw new HttpProblem(
      'conflict',
      `Task ${id} has nothing to retry: it is not over, or nothing in it failed.`,
    );
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
    if (changed) {
      exchange.change = changeOf(changed);
      return jsonAnswer(taskDocument(changed));
    }
    throw new HttpProblem('conflict', `Task ${id} ${otherwise}.`);
  }

  async function taskOf(exchange: Exchange): Promise<Task> {
    const text = exchange.param('id');
    const task = /^\d{1,15}$/.test(text) ? await tasks.get(Number(text)) : null;
    if (task) return task;
    throw new HttpProblem('task-unknown', 'There is no such task.');
  }

  async function ownTask(exchange: Exchange): Promise<Task> {
    const task = await taskOf(exchange);
    if (!exchange.caller || mayWorkOn(exchange.caller, task.request.layer)) return task;
    throw new HttpProblem('forbidden', `${exchange.caller.name} may not work on this layer.`);
  }
}

function createdAnswer(exchange: Exchange, task: Task): Answer {
  exchange.change = changeOf(task);
  const location = `${exchange.baseUrl}/api/v1/tasks/${task.id}`;
  return jsonAnswer(taskDocument(task), ['Location', location], 201);
}

/** For the audit log. */
function changeOf({ id, state, request: { layer, type } }: Task): Exchange['change'] {
  return { target: `layer:${layer}`, after: { task: id, type, state } };
}
