import type { Statements } from '../../db/database.ts';
import { changeNumber, nextToken } from '../../db/numbers.ts';
import { stateAfter, statesBefore, type TaskErrorSample, type TaskOutcome } from '../task.ts';
import { lockTasks, type TaskRow, updateTask } from './task-rows.ts';

/**
 * Ends a running task without remaining work: no piece to lease, none held or returned, no step to retry. It is
 * `done` only when no tile was given up.
 */
export async function finishIfComplete(query: Statements, id: number, now: number): Promise<boolean> {
  const task = await query
    .selectFrom('tasks')
    .select([
      'state',
      'next_piece',
      'piece_count',
      'started_at',
      'tiles_processed',
      'tiles_total',
      'failed',
      'error_samples',
    ])
    .where('id', '=', id)
    .executeTakeFirst();
  if (task?.state !== 'running' || task.next_piece < task.piece_count) return false;
  const leases = query.selectFrom('task_leases').select('piece').where('task_id', '=', id).limit(1);
  const failures = query.selectFrom('task_failures').select('id').where('task_id', '=', id).limit(1);
  const retries = failures.where('retry_at', 'is not', null);
  if ((await leases.executeTakeFirst()) || (await retries.executeTakeFirst())) return false;
  const reason = failureOf(task);
  const state = stateAfter('running', reason === null ? 'finished' : 'failed') ?? 'aborted';
  await updateTask(query, id, { state, outcome: outcomeOf(task, reason), reason, ended_at: now });
  return true;
}

function outcomeOf({ failed, tiles_total }: Counted, reason: string | null): TaskOutcome {
  if (reason === null) return 'ok';
  return BigInt(failed) > 0n && BigInt(failed) < BigInt(tiles_total) ? 'partial' : 'failed';
}

type Counted = Pick<TaskRow, 'failed' | 'tiles_processed' | 'tiles_total' | 'error_samples'>;

/** Wrong counts are a bug, and no reason for a task never to end. */
function failureOf(task: Counted): string | null {
  const wrong = `nothing is left to do, yet ${task.tiles_processed} of ${task.tiles_total} tiles were counted`;
  if (BigInt(task.failed) === 0n) return task.tiles_processed === task.tiles_total ? null : wrong;
  const last = (JSON.parse(task.error_samples) as TaskErrorSample[]).at(-1)?.message ?? 'unknown';
  return `${task.failed} of ${task.tiles_total} tiles failed; the last: ${last}`;
}

/**
 * Aborts the task if its state allows it. Its leases end with it: their holders' reports come too late. Pieces that
 * were begun stay, so that it is known how far it got.
 */
export async function endTask(
  query: Statements,
  id: number,
  happening: 'killed' | 'failed',
  reason: string,
  now: number,
): Promise<void> {
  await lockTasks(query, [id]);
  const outcome = happening === 'killed' ? 'stopped' : 'failed';
  const changed = await query
    .updateTable('tasks')
    .set({ state: 'aborted', outcome, reason, ended_at: now, event_id: await changeNumber(query) })
    .where('id', '=', id)
    .where('state', 'in', statesBefore(happening))
    .executeTakeFirst();
  if (changed.numUpdatedRows === 0n) return;
  await returnPieces(query, id);
  await query
    .updateTable('task_failures')
    .set({ retry_at: null, token: null })
    .where('task_id', '=', id)
    .execute();
}

/** Returns all held pieces of a task. */
export async function returnPieces(query: Statements, taskId: number): Promise<void> {
  const leases = query.selectFrom('task_leases').select(['piece', 'token']).where('task_id', '=', taskId);
  for (const { piece, token } of await leases.where('owner', 'is not', null).execute())
    await returnPiece(query, taskId, piece, token);
}

/** Makes a piece available again. Its holder's token is void; reported work stays done. */
export async function returnPiece(
  query: Statements,
  taskId: number,
  piece: number,
  token: number,
): Promise<void> {
  if (isRetry(piece)) {
    await query.updateTable('task_failures').set({ token: null }).where('token', '=', token).execute();
    await query.deleteFrom('task_leases').where('token', '=', token).execute();
    return;
  }
  await query
    .updateTable('task_leases')
    .set({ owner: null, threads: 0, token: await nextToken(query) })
    .where('task_id', '=', taskId)
    .where('piece', '=', piece)
    .execute();
}

/** Leases over failed steps have no place among the pieces; their number is made from the token. */
export function isRetry(piece: number): boolean {
  return piece < 0;
}
