import type { Database, Statements, Updateable } from '../../db/database.ts';
import { changeNumber, dialectOf } from '../../db/numbers.ts';
import type { RowOf, Schema } from '../../db/schema.ts';
import {
  type NotedWait,
  TASK_OUTCOMES,
  TASK_STATES,
  type Task,
  type TaskErrorSample,
  type TaskOutcome,
  type TaskRequest,
  type TaskState,
} from '../task.ts';
import type { TaskCounts, TaskFilter } from '../task-filter.ts';
import type { TaskPlan } from '../task-plan.ts';
import type { FailedStep } from './lease.ts';

export type TaskRow = RowOf<'tasks'>;

/** Channels of the database: tasks have changed; there may be work for waiting workers; leases were ended. */
export const TASKS_CHANGED = 'tasks-changed';
export const TASKS_WAITING = 'tasks-waiting';
export const TASKS_STOPPED = 'tasks-stopped';
export const WORK = [TASKS_CHANGED, TASKS_WAITING];

export async function changeTasks<Result>(
  database: Database,
  channels: readonly string[],
  work: (query: Statements) => Promise<Result>,
  lock: string | null = null,
): Promise<Result> {
  const result = await database.transaction(lock, work);
  for (const channel of channels) await database.notify(channel);
  return result;
}

/**
 * Locks rows of tasks, in the order of their ids, before their leases or failures are changed: changes of one task
 * follow one another, and those of different tasks do not wait. SQLite has one lock for all.
 */
export async function lockTasks(query: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0 || dialectOf(query) === 'sqlite') return;
  await query
    .selectFrom('tasks')
    .select('id')
    .where('id', 'in', [...ids])
    .orderBy('id')
    .forUpdate()
    .execute();
}

export async function taskRow(query: Statements, id: number): Promise<TaskRow> {
  return query.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Changes a row, and numbers the change. */
export async function updateTask(
  query: Statements,
  id: number,
  changes: Updateable<Schema['tasks']>,
): Promise<void> {
  const event_id = await changeNumber(query);
  await query
    .updateTable('tasks')
    .set({ ...changes, event_id })
    .where('id', '=', id)
    .execute();
}

type StepColumns = Pick<Schema['task_failures'], 'z' | 'min_x' | 'min_y' | 'max_x' | 'max_y' | 'tiles'>;

export function failedStepOf(row: StepColumns & { readonly id: number }): FailedStep {
  const { id, z, min_x: minX, min_y: minY, max_x: maxX, max_y: maxY, tiles } = row;
  return { id, z, rect: { minX, minY, maxX, maxY }, tiles: BigInt(tiles) };
}

/** Rate and remaining time are not stored: the watcher of a task computes them. */
export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    eventId: row.event_id,
    request: requestOf(row),
    state: row.state as TaskState,
    outcome: row.outcome as TaskOutcome | null,
    reason: row.reason,
    tilesProcessed: BigInt(row.tiles_processed),
    tilesTotal: BigInt(row.tiles_total),
    secondsRemaining: row.state === 'done' ? 0 : -1,
    tilesPerSecond: 0,
    waitingFor: row.waiting === null ? null : (JSON.parse(row.waiting) as NotedWait),
    counters: {
      made: Number(row.made),
      present: Number(row.present),
      removed: Number(row.removed),
      blank: Number(row.blank),
      failed: Number(row.failed),
      bytes: Number(row.bytes),
      upstreamRequests: Number(row.upstream_requests),
    },
    errors: JSON.parse(row.error_samples) as readonly TaskErrorSample[],
    file: row.file,
    createdBy: row.created_by,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  };
}

export function requestOf(row: Pick<TaskRow, 'request'>): TaskRequest {
  return JSON.parse(row.request) as TaskRequest;
}

export function planOf(row: Pick<TaskRow, 'plan'>): TaskPlan {
  return JSON.parse(row.plan) as TaskPlan;
}

export function filteredTasks(query: Statements, filter: TaskFilter) {
  return narrowed(query, filter, false);
}

/** `isScan`: SQLite uses no index of outcome, layer or type; see `countedTasks`. */
function narrowed(query: Statements, filter: TaskFilter, isScan: boolean) {
  let tasks = query.selectFrom('tasks');
  const lists = [filter.ids, filter.states, filter.outcomes, filter.layers, filter.types];
  // PostgreSQL has no empty list.
  if (lists.some((list) => list?.length === 0)) return tasks.where(({ lit }) => lit(false));
  if (filter.ids) tasks = tasks.where('id', 'in', [...filter.ids]);
  if (filter.upTo !== undefined) tasks = tasks.where('id', '<=', filter.upTo);
  if (filter.states) tasks = tasks.where('state', 'in', [...filter.states]);
  const texts = { outcome: filter.outcomes, layer: filter.layers, type: filter.types } as const;
  for (const name of ['outcome', 'layer', 'type'] as const) {
    const values = texts[name];
    if (values)
      tasks = tasks.where(({ eb, fn, ref }) =>
        eb(isScan ? fn.coalesce(name, name) : ref(name), 'in', [...values]),
      );
  }
  if (filter.exported) tasks = tasks.where('export_id', 'is not', null);
  if (filter.since !== undefined) tasks = tasks.where('created_at', '>=', filter.since);
  if (filter.until !== undefined) tasks = tasks.where('created_at', '<', filter.until);
  return tasks;
}

/**
 * SQLite prefers the index of a field and then reads a wide row for each match, several times the cost of reading all
 * of `tasks_by_filter`, which has every field of a filter.
 */
export function countedTasks(query: Statements, filter: TaskFilter) {
  const isScan = dialectOf(query) === 'sqlite' && !filter.ids;
  return narrowed(query, filter, isScan)
    .select(({ fn }) => ['state', 'outcome', fn.countAll().as('count')])
    .groupBy(['state', 'outcome']);
}

export async function countTasks({ query }: Database, filter: TaskFilter): Promise<TaskCounts> {
  const rows = await countedTasks(query, filter).execute();
  const sum = (fits: (row: (typeof rows)[number]) => boolean) =>
    rows.filter(fits).reduce((total, { count }) => total + Number(count), 0);
  const states = TASK_STATES.map((state) => [state, sum((row) => row.state === state)]);
  const outcomes = TASK_OUTCOMES.map((outcome) => [outcome, sum((row) => row.outcome === outcome)]);
  return {
    state: Object.fromEntries(states) as Record<TaskState, number>,
    outcome: Object.fromEntries(outcomes) as Record<TaskOutcome, number>,
  };
}
