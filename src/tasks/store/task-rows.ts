import type { Database, Statements } from '../../db/database.ts';
import type { RowOf, TasksTable } from '../../db/schema.ts';
import type { Task, TaskErrorSample, TaskRequest, TaskState } from '../task.ts';
import type { TaskPlan } from '../task-plan.ts';

export type TaskRow = RowOf<TasksTable>;

/** Every transaction that changes tasks runs under this lock, and so becomes visible in the order of its events. */
const TASK_LOCK = 'tasks';
/** Channels of the database: tasks have changed; there may be work for those who wait for it. */
export const TASKS_CHANGED = 'tasks-changed';
export const TASKS_WAITING = 'tasks-waiting';

export async function changeTasks<Result>(
  database: Database,
  channels: readonly string[],
  work: (query: Statements) => Promise<Result>,
): Promise<Result> {
  const result = await database.transaction(TASK_LOCK, work);
  for (const channel of channels) await database.notify(channel);
  return result;
}

export async function nextOf(query: Statements, counter: 'task-events' | 'lease-tokens'): Promise<number> {
  const row = await query
    .updateTable('counters')
    .set((eb) => ({ value: eb('value', '+', 1) }))
    .where('name', '=', counter)
    .returning('value')
    .executeTakeFirstOrThrow();
  return row.value;
}

/** Rate and time left are not kept: whoever watches a task knows them. */
export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    eventId: row.event_id,
    request: requestOf(row),
    state: row.state as TaskState,
    reason: row.reason,
    tilesProcessed: BigInt(row.tiles_processed),
    tilesTotal: BigInt(row.tiles_total),
    secondsRemaining: row.state === 'done' ? 0 : -1,
    tilesPerSecond: 0,
    waitingFor: null,
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
