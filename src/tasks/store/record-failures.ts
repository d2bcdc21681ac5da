import type { Statements } from '../../db/database.ts';
import { jitter, type Random } from '../../lib/random.ts';
import type { TaskErrorSample, TaskRequest } from '../task.ts';
import type { HostFailure, StepFailure } from './lease.ts';
import { requestOf, type TaskRow } from './task-rows.ts';
import { endTask } from './task-store.ts';

export interface FailureContext {
  readonly now: number;
  readonly random: Random;
}

const KEPT_SAMPLES = 10;
/** Milliseconds. */
const HOST_LOOK_INTERVAL = 4000;
const LONGEST_REASON = 300;
/** Milliseconds. */
const LONGEST_BACKOFF = 300_000;
const BACKOFF_SPREAD = 0.2;

/** What failing steps change in a task's row. */
export interface FailureTally {
  /** Tiles given up: processed, in that nobody will try them again. */
  tiles: bigint;
  steps: number;
  samples: TaskErrorSample[];
}

export function noFailures(): FailureTally {
  return { tiles: 0n, steps: 0, samples: [] };
}

/** A step's first failure: it waits for another attempt, or is given up when the task allows none. */
export async function recordFailure(
  query: Statements,
  task: TaskRow,
  failure: StepFailure,
  tally: FailureTally,
  context: FailureContext,
): Promise<void> {
  const retryAt = retryTime(requestOf(task), 1, context);
  const reason = failure.reason.slice(0, LONGEST_REASON);
  const { z, rect, tiles } = failure;
  await query
    .insertInto('task_failures')
    .values({
      task_id: task.id,
      z,
      min_x: rect.minX,
      min_y: rect.minY,
      max_x: rect.maxX,
      max_y: rect.maxY,
      tiles,
      attempts: 1,
      retry_at: retryAt,
      token: null,
      reason,
      at: context.now,
    })
    .execute();
  count(tally, { ...failure, reason }, retryAt === null, context.now);
}

/** Another failure of a step that was tried again. */
export async function recordFailureAgain(
  query: Statements,
  task: TaskRow,
  id: number,
  reason: string,
  tally: FailureTally,
  context: FailureContext,
): Promise<void> {
  const row = await query
    .selectFrom('task_failures')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const attempts = row.attempts + 1;
  const retryAt = retryTime(requestOf(task), attempts, context);
  const shown = reason.slice(0, LONGEST_REASON);
  await query
    .updateTable('task_failures')
    .set({ attempts, retry_at: retryAt, token: null, reason: shown, at: context.now })
    .where('id', '=', id)
    .execute();
  const rect = { minX: row.min_x, minY: row.min_y, maxX: row.max_x, maxY: row.max_y };
  const failure = { z: row.z, rect, tiles: BigInt(row.tiles), reason: shown };
  count(tally, failure, retryAt === null, context.now);
}

/**
 * A look at a host that fails is a failure of the task as well, though of none of its tiles, so that a task whose host
 * stays away comes to an end. Threads and workers that look together count once.
 */
export function recordHostFailure(
  task: TaskRow,
  failure: HostFailure,
  tally: FailureTally,
  now: number,
): void {
  const { host, z, x, y } = failure;
  const message = `host ${host} fails: ${failure.failure}`.slice(0, LONGEST_REASON);
  const samples = JSON.parse(task.error_samples) as TaskErrorSample[];
  const isSameLook = (sample: TaskErrorSample) =>
    sample.message.startsWith(`host ${host} `) && now - sample.at < HOST_LOOK_INTERVAL;
  if (samples.some(isSameLook)) return;
  tally.samples.push({ at: now, z, x, y, message });
  tally.steps += 1;
}

/** Aborts the task when it has failed more often than it may. */
export async function abortOverLimit(
  query: Statements,
  task: TaskRow,
  tally: FailureTally,
  now: number,
): Promise<boolean> {
  if (tally.steps === 0) return false;
  const limit = requestOf(task).totalFailuresBeforeAborting;
  const failures = task.failures + tally.steps;
  if (failures <= limit) return false;
  const last = tally.samples.at(-1)?.message ?? 'unknown';
  await endTask(query, task.id, 'failed', `more than ${limit} failures; the last: ${last}`, now);
  return true;
}

export function mergeSamples(kept: string, fresh: readonly TaskErrorSample[]): string {
  const repeated = new Set(
    fresh.map(({ message }) => message).filter((message) => message.startsWith('host ')),
  );
  const samples = (JSON.parse(kept) as TaskErrorSample[]).filter(({ message }) => !repeated.has(message));
  return JSON.stringify([...samples, ...fresh].slice(-KEPT_SAMPLES));
}

function count(tally: FailureTally, failure: StepFailure, givenUp: boolean, at: number): void {
  const { z, rect, reason } = failure;
  tally.samples.push({ at, z, x: rect.minX, y: rect.minY, message: reason });
  if (!givenUp) return;
  tally.tiles += failure.tiles;
  tally.steps += 1;
}

function retryTime(request: TaskRequest, attempts: number, { now, random }: FailureContext): number | null {
  if (attempts > request.tileFailureRetryCount) return null;
  const wait = Math.min(
    request.tileFailureRetryWaitTime * 2 ** (attempts - 1),
    Math.max(LONGEST_BACKOFF, request.tileFailureRetryWaitTime),
  );
  return Math.round(now + jitter(wait, BACKOFF_SPREAD, random));
}
