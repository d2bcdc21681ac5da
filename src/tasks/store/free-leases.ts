import type { Statements } from '../../db/database.ts';
import { changeNumber } from '../../db/numbers.ts';
import type { Schema } from '../../db/schema.ts';
import { countCovered } from '../../domain/area-cover.ts';
import { coverOf, pieceAt, stepCount, stepsOf } from '../task-plan.ts';
import { finishIfComplete, isRetry, returnPiece } from './finish-task.ts';
import { createFailureRecord } from './record-failures.ts';
import { lockTasks, planOf, requestOf, type TaskRow, taskRow } from './task-rows.ts';

export type LeaseHolder = 'everybody' | { readonly owner: string } | { readonly token: number };

/** A step at which this many workers died is skipped. */
const FATAL_CRASHES = 3;
const CRASH_REASON = 'a worker process ended while making these tiles';
const FATAL_REASON = `${FATAL_CRASHES} worker processes ended while making these tiles`;

export async function freeLeases(
  query: Statements,
  holder: LeaseHolder,
  crashed: boolean,
  now: number,
): Promise<number> {
  let held = query.selectFrom('task_leases').selectAll().where('owner', 'is not', null);
  if (holder !== 'everybody') {
    held =
      'owner' in holder ? held.where('owner', '=', holder.owner) : held.where('token', '=', holder.token);
  }
  await lockTasks(query, [...new Set((await held.execute()).map((lease) => lease.task_id))]);
  const leases = await held.execute();
  for (const lease of leases) {
    if (crashed) await freeAfterCrash(query, lease, now);
    await returnPiece(query, lease.task_id, lease.piece, lease.token);
    await finishIfComplete(query, lease.task_id, now);
  }
  return leases.length;
}

async function freeAfterCrash(query: Statements, lease: Schema['task_leases'], now: number): Promise<void> {
  const { token, piece } = lease;
  const crashes = lease.crashes + 1;
  if (!isRetry(piece) && crashes < FATAL_CRASHES) {
    await query.updateTable('task_leases').set({ crashes }).where('token', '=', token).execute();
    return;
  }
  const task = await taskRow(query, lease.task_id);
  const failures = createFailureRecord(query, task, { now, random: () => 0.5 });
  if (isRetry(piece)) {
    // The fatal step is unknown; each of them has had an attempt.
    const tried = await query.selectFrom('task_failures').select('id').where('token', '=', token).execute();
    for (const { id } of tried) await failures.addAgain(id, { reason: CRASH_REASON });
  } else {
    const step = await passOver(query, task, lease);
    if (!step) return;
    await failures.giveUp({ ...step, reason: FATAL_REASON }, FATAL_CRASHES);
  }
  const event_id = await changeNumber(query);
  await query
    .updateTable('tasks')
    .set((eb) => ({ event_id, ...failures.changes(eb, 0n) }))
    .where('id', '=', task.id)
    .execute();
  await failures.abortOverLimit();
}

/** Lets the piece continue after the step at which workers die; returns that step. */
async function passOver(query: Statements, task: TaskRow, lease: Schema['task_leases']) {
  const plan = planOf(task);
  const piece = pieceAt(plan, lease.piece);
  const step = piece && stepsOf(plan, piece, lease.done_steps).next().value;
  if (!piece || !step) return null;
  const isLast = step.index + 1 === stepCount(plan, piece);
  if (isLast) await query.deleteFrom('task_leases').where('token', '=', lease.token).execute();
  await query
    .updateTable('task_leases')
    .set({ crashes: 0, done_steps: step.index + 1 })
    .where('token', '=', lease.token)
    .execute();
  return { ...step, tiles: countCovered(coverOf(plan, requestOf(task)), step.z, step.rect) };
}
