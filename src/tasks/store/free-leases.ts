import type { Statements } from '../../db/database.ts';
import { changeNumber } from '../../db/numbers.ts';
import type { Schema } from '../../db/schema.ts';
import { countCovered } from '../area-cover.ts';
import { coverOf, pieceAt, stepCount, stepsOf } from '../task-plan.ts';
import { finishIfComplete } from './finish-task.ts';
import {
  abortOverLimit,
  type FailureTally,
  insertFailure,
  mergeSamples,
  noFailures,
  recordFailureAgain,
} from './record-failures.ts';
import { lockTasks, planOf, requestOf, type TaskRow } from './task-rows.ts';
import { isRetry, returnPiece } from './task-store.ts';

/** Whose leases are taken back. */
export type LeaseHolder = 'everybody' | { readonly owner: string } | { readonly token: number };

/** A step at which this many workers died is passed over. */
const FATAL_CRASHES = 3;
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
  const task = await query
    .selectFrom('tasks')
    .selectAll()
    .where('id', '=', lease.task_id)
    .executeTakeFirstOrThrow();
  if (isRetry(lease.piece)) return countCrashedRetries(query, task, lease.token, now);
  const crashes = lease.crashes + 1;
  if (crashes < FATAL_CRASHES) {
    await query.updateTable('task_leases').set({ crashes }).where('token', '=', lease.token).execute();
    return;
  }
  await passOver(query, task, lease, now);
}

/** Which of the steps was fatal is not known; each of them has had an attempt. */
async function countCrashedRetries(
  query: Statements,
  task: TaskRow,
  token: number,
  now: number,
): Promise<void> {
  const tried = await query.selectFrom('task_failures').select('id').where('token', '=', token).execute();
  const tally = noFailures();
  const context = { now, random: () => 0.5 };
  for (const { id } of tried) {
    await recordFailureAgain(
      query,
      task,
      id,
      'a worker process ended while making these tiles',
      tally,
      context,
    );
  }
  await addFailures(query, task, tally, now);
}

/** Gives up the step at which workers die, and lets the piece go on behind it. */
async function passOver(
  query: Statements,
  task: TaskRow,
  lease: Schema['task_leases'],
  now: number,
): Promise<void> {
  const plan = planOf(task);
  const piece = pieceAt(plan, lease.piece);
  const step = piece && stepsOf(plan, piece, lease.done_steps).next().value;
  if (!piece || !step) return;
  const tiles = countCovered(coverOf(plan, requestOf(task)), step.z, step.rect);
  const failure = { ...step, tiles, reason: FATAL_REASON };
  await insertFailure(query, task.id, failure, { attempts: FATAL_CRASHES, retry_at: null, at: now });
  await query
    .updateTable('task_leases')
    .set({ crashes: 0, done_steps: step.index + 1 })
    .where('token', '=', lease.token)
    .execute();
  const { z, rect } = step;
  const samples = [{ at: now, z, x: rect.minX, y: rect.minY, message: FATAL_REASON }];
  await addFailures(query, task, { tiles, steps: 1, samples }, now);
  if (step.index + 1 < stepCount(plan, piece)) return;
  await query.deleteFrom('task_leases').where('token', '=', lease.token).execute();
}

async function addFailures(
  query: Statements,
  task: TaskRow,
  tally: FailureTally,
  now: number,
): Promise<void> {
  const eventId = await changeNumber(query);
  await query
    .updateTable('tasks')
    .set((eb) => ({
      event_id: eventId,
      tiles_processed: eb('tiles_processed', '+', tally.tiles),
      failed: eb('failed', '+', tally.tiles),
      failures: eb('failures', '+', tally.steps),
      error_samples: mergeSamples(task.error_samples, tally.samples),
    }))
    .where('id', '=', task.id)
    .execute();
  await abortOverLimit(query, task, tally, now);
}
