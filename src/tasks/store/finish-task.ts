import type { Statements } from '../../db/database.ts';
import { nextOf } from './task-rows.ts';

/** Ends a running task well when nothing of it is left: no piece to lease, none held or returned, no step to retry. */
export async function finishIfComplete(query: Statements, id: number, now: number): Promise<boolean> {
  const task = await query
    .selectFrom('tasks')
    .select(['state', 'next_piece', 'piece_count', 'started_at', 'tiles_processed', 'tiles_total', 'failed'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (task?.state !== 'running' || task.next_piece < task.piece_count) return false;
  if ((await hasLeases(query, id)) || (await hasRetries(query, id))) return false;
  if (BigInt(task.tiles_processed) !== BigInt(task.tiles_total)) {
    throw new Error(
      `Task ${id} has nothing left to do, yet processed ${task.tiles_processed} of ${task.tiles_total} tiles.`,
    );
  }
  await query
    .updateTable('tasks')
    .set({
      state: 'done',
      reason: BigInt(task.failed) > 0n ? `${task.failed} tiles failed` : null,
      ended_at: now,
      event_id: await nextOf(query, 'task-events'),
    })
    .where('id', '=', id)
    .execute();
  return true;
}

async function hasLeases(query: Statements, id: number): Promise<boolean> {
  const row = await query
    .selectFrom('task_leases')
    .select('piece')
    .where('task_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

async function hasRetries(query: Statements, id: number): Promise<boolean> {
  const row = await query
    .selectFrom('task_failures')
    .select('id')
    .where('task_id', '=', id)
    .where('retry_at', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
