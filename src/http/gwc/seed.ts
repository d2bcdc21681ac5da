/** GeoWebCache's interface for tasks: `/rest/seed`. */
import { boundLayer } from '../../catalog/catalog.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import type { Layer } from '../../domain/layer.ts';
import { refuseUnknownParameters } from '../../domain/parameter-filter.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import { type Task, type TaskState, UNFINISHED, WORK_TYPES } from '../../tasks/task.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { ownUnfinished } from '../api/task-filter.ts';
import { BODY_TYPES, FORM, requireMediaType } from '../auth/request-checks.ts';
import { authorIn, type Context } from '../context.ts';
import { html, pageResponse } from '../page.ts';
import { contentResponse, type Headers, type Response, textResponse, withHeaders } from '../response.ts';
import { readSeedForm, readSeedRequest } from './seed-request.ts';

type OfLayer = Call<{ params: 'layer' }>;

/** A row of numbers for each unfinished task, as in GeoWebCache. */
export async function listTasks(_: Call, { tasks }: ApiDeps) {
  return taskListResponse(await tasks.active(null));
}

export async function listTasksOfLayer({ params }: OfLayer, { catalog, tasks }: ApiDeps) {
  const { layer } = boundLayer(catalog, params.layer);
  return taskListResponse(await tasks.active(layer.name));
}

/** Responds when the task is recorded durably. */
export function seedBy(format: DocumentFormat) {
  return async (call: OfLayer, deps: ApiDeps) => {
    const { context, params } = call;
    requireMediaType(context.headers, BODY_TYPES[format]);
    const { layer } = boundLayer(deps.catalog, params.layer);
    const task = await start(layer, readSeedRequest(context.body, format, layer.name), call, deps);
    return textResponse(200, '', taskHeaders(context, task));
  };
}

function start(layer: Layer, draft: TaskDraft, call: Call, { tasks }: ApiDeps): Promise<Task> {
  if (draft.type?.toLowerCase() === 'truncate' && draft.parameters) {
    refuseUnknownParameters(layer.parameters, draft.parameters);
  }
  return tasks.create(draft, authorIn(call));
}

/** The form `kill_all`, for tasks of all layers that the caller may work on. */
export async function stopByForm({ context, caller }: Call, { tasks }: ApiDeps) {
  const states = killAllStates(readForm(context));
  const own = await ownUnfinished(tasks, context, { states, types: WORK_TYPES });
  return stoppedPage(context, await tasks.cancel(own, caller.name));
}

/** The forms of GeoWebCache's seed page: `list`, `kill_thread`, `kill_all`, or a seed request, which has `minX`. */
export async function takeForm(call: OfLayer, deps: ApiDeps) {
  const { context, caller, params } = call;
  const { catalog, tasks } = deps;
  const form = readForm(context);
  const { layer } = boundLayer(catalog, params.layer);
  if (form.has('list')) {
    const active = await tasks.active(form.get('list') === 'all' ? null : layer.name);
    return taskPage(context, active, active.length === 0 ? 'No tasks' : 'Tasks');
  }
  if (form.has('minX') && !form.has('kill_thread') && !form.has('kill_all')) {
    const task = await start(layer, readSeedForm(form, layer.name), call, deps);
    return withHeaders(taskPage(context, [task], 'Task submitted'), taskHeaders(context, task));
  }
  const selection = form.has('kill_thread') ? { ids: [threadId(form)] } : { states: killAllStates(form) };
  const filter = { ...selection, layers: [layer.name], types: WORK_TYPES };
  return stoppedPage(context, await tasks.cancel(filter, caller.name));
}

function taskHeaders({ baseUrl }: Context, { id }: Task): Headers {
  return ['Location', `${baseUrl}/api/v1/tasks/${id}`, 'X-Task-Id', String(id)];
}

/** Written by hand: the counts are bigints, which `JSON.stringify` cannot write. */
function taskListResponse(tasks: readonly Task[]): Response {
  const body = `{"long-array-array":[${tasks.map(writeRow).join(',')}]}`;
  return contentResponse('application/json', body);
}

/** GeoWebCache's codes of states. It has none for paused tasks, which are shown as pending. */
const STATUS_CODES: Readonly<Record<TaskState, number>> = {
  aborted: -1,
  pending: 0,
  paused: 0,
  running: 1,
  done: 2,
};

function writeRow(task: Task): string {
  const seconds = Math.ceil(task.secondsRemaining);
  return `[${task.tilesProcessed},${task.tilesTotal},${seconds},${task.id},${STATUS_CODES[task.state]}]`;
}

type States = readonly TaskState[];

/** Old clients send `1` for running tasks. `pending` stops paused tasks too. */
const STATES_OF_KILL_ALL: ReadonlyMap<string, States> = new Map([
  ['running', ['running']],
  ['1', ['running']],
  ['pending', ['pending', 'paused']],
  ['all', UNFINISHED],
]);

/** Some scripts of GeoWebCache send the form as `text/xml`. */
function readForm(context: Context): URLSearchParams {
  requireMediaType(context.headers, [FORM, 'text/xml']);
  return new URLSearchParams(`${context.query}&${context.body.toString('utf8').trim()}`);
}

function killAllStates(form: URLSearchParams): States {
  const value = form.getAll('kill_all').join(' and ');
  const states = STATES_OF_KILL_ALL.get(value.trim().toLowerCase());
  if (states) return states;
  const problem = value === '' ? 'kill_all is missing' : `kill_all "${shortened(value)}" is unknown`;
  throw invalid(`${problem}; it must be running, pending, all or 1.`);
}

function threadId(form: URLSearchParams): number {
  const text = form.get('thread_id')?.trim() ?? '';
  const id = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (id > 0) return id;
  throw invalid('kill_thread needs thread_id, the number of a task.');
}

function stoppedPage(context: Context, stopped: readonly Task[]) {
  return taskPage(context, stopped, stopped.length === 0 ? 'No matching tasks' : 'Stopping tasks');
}

function taskPage(context: Context, tasks: readonly Task[], title: string) {
  const list = html`<ul>
${tasks.map(({ id, request, state }) => html`<li>[${id}: ${request.layer}, ${request.type}, ${state}]</li>`)}
</ul>`;
  return pageResponse(
    title,
    html`${tasks.length === 0 ? html`` : list}
<p><a href="${context.baseUrl}/">Back</a></p>`,
  );
}
