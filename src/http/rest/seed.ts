import type { Layer } from '../../domain/layer.ts';
import { refuseUnknownParameters } from '../../domain/parameter-filter.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { Task, TaskState } from '../../tasks/task.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import type { TaskService } from '../../tasks/task-service.ts';
import { type Answer, type Headers, textAnswer } from '../answer.ts';
import { BODY_TYPES, requireMediaType } from '../door/request-body.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { Handler } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { boundLayer } from '../services/tiles.ts';
import { readSeedRequest } from '../wire/seed-request.ts';

/** `POST /rest/seed/{layer}.xml|json`: the answer is sent when the task is recorded durably. */
export function createSeedHandler({ catalog, tasks }: RouteDeps, format: DocumentFormat): Handler {
  return async (exchange) => {
    requireMediaType(exchange.headers, BODY_TYPES[format]);
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    const draft = readSeedRequest(exchange.body, format, layer.name);
    const task = await startTask(tasks, layer, draft, exchange);
    return textAnswer(200, '', taskHeaders(exchange, task));
  };
}

export function startTask(tasks: TaskService, layer: Layer, draft: TaskDraft, exchange: Exchange) {
  if (draft.type?.toLowerCase() === 'truncate' && draft.parameters) {
    refuseUnknownParameters(layer.parameters, draft.parameters);
  }
  return tasks.create(draft, callerName(exchange));
}

export function taskHeaders({ baseUrl }: Exchange, { id }: Task): Headers {
  return ['Location', `${baseUrl}/api/v1/tasks/${id}`, 'X-Task-Id', String(id)];
}

/** `GET /rest/seed.json` */
export function createTaskListHandler({ tasks }: RouteDeps): Handler {
  return async () => taskListAnswer(writeTaskList(await tasks.active(null)));
}

/** `GET /rest/seed/{layer}.xml|json` */
export function createLayerTaskListHandler({ catalog, tasks }: RouteDeps): Handler {
  return async (exchange) => {
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    return taskListAnswer(writeTaskList(await tasks.active(layer.name)));
  };
}

function taskListAnswer(body: string): Answer {
  return { status: 200, headers: ['Content-Type', 'application/json'], body };
}

/** Section 3 of the specification. A paused task waits, as a pending one does. */
const STATUS_CODES: Readonly<Record<TaskState, number>> = {
  aborted: -1,
  pending: 0,
  paused: 0,
  running: 1,
  done: 2,
};

/** Section 2.2 of the specification. Counts are 64-bit and written digit by digit: a JSON number of JavaScript would round them. */
function writeTaskList(tasks: readonly Task[]): string {
  return `{"long-array-array":[${tasks.map(writeRow).join(',')}]}`;
}

function writeRow(task: Task): string {
  const seconds = Math.ceil(task.secondsRemaining);
  return `[${task.tilesProcessed},${task.tilesTotal},${seconds},${task.id},${STATUS_CODES[task.state]}]`;
}
