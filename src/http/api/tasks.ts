import { mayWorkOn } from '../../access/caller.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { Task } from '../../tasks/task.ts';
import type { TaskService } from '../../tasks/task-service.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import type { Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import { callerName } from '../rest/seed.ts';
import type { Handler } from '../route.ts';
import { readBody } from '../wire/read-body.ts';
import { taskDocument } from '../wire/task-document.ts';
import { refuseUnknownNames, taskBody, taskDraftOf } from '../wire/task-request.ts';
import { readTaskFilter } from './task-query.ts';

export interface TaskApi {
  readonly list: Handler;
  readonly create: Handler;
  readonly show: Handler;
  readonly cancel: Handler;
  readonly pause: Handler;
  readonly resume: Handler;
  readonly retry: Handler;
}

/** What removals for quotas are known by. */
type Evictions = Pick<QuotaService, 'evictedBetween'>;

/** `/api/v1/tasks` and what lies below it. */
export function createTaskApi(
  catalog: Pick<Catalog, 'layer'>,
  tasks: TaskService,
  evictions: Evictions | null = null,
): TaskApi {
  return {
    async list({ query }) {
      const filter = readTaskFilter(query);
      const found = await tasks.list(filter);
      const next = found.length === filter.limit ? (found.at(-1)?.id ?? null) : null;
      return jsonAnswer({ tasks: await Promise.all(found.map(withEvictions)), nextBefore: next });
    },

    async create(exchange) {
      const { layer, type, dryRun, ...body } = readBody(exchange, taskBody);
      const draft = { layer, type, ...taskDraftOf(body) };
      refuseUnknownNames(catalog, draft);
      if (exchange.caller) refuseForeignLayer(exchange.caller, draft.layer);
      if (dryRun) return jsonAnswer(await tasks.estimate(draft));
      return createdAnswer(exchange, await tasks.create(draft, callerName(exchange)));
    },

    async show(exchange) {
      return jsonAnswer(await withEvictions(await taskOf(exchange)));
    },

    cancel: (exchange) =>
      change(exchange, 'is over already', async (id) => {
        const stopped = await tasks.cancel(
          { id, states: ['pending', 'running', 'paused'] },
          callerName(exchange),
        );
        return stopped.length === 0 ? null : tasks.get(id);
      }),
    pause: (exchange) => change(exchange, 'cannot be paused', (id) => tasks.pause(id)),
    resume: (exchange) => change(exchange, 'is not paused', (id) => tasks.resume(id)),

    async retry(exchange) {
      const { id } = await ownTask(exchange);
      const retried = await tasks.retryFailed(id, callerName(exchange));
      if (retried) return createdAnswer(exchange, retried);
      throw new HttpProblem(
        'conflict',
        `Task ${id} has nothing to retry: it is not over, or nothing in it failed.`,
      );
    },
  };

  /** What quotas removed while the task ran: a seed into a full cache is seen to displace other tiles. */
  async function withEvictions(task: Task): Promise<object> {
    const document = taskDocument(task);
    if (!evictions || task.startedAt === null) return document;
    const until = task.endedAt ?? Number.MAX_SAFE_INTEGER;
    const { tiles, bytes } = await evictions.evictedBetween(task.startedAt, until);
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
