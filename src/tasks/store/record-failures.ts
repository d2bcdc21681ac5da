import type { Statements } from '../../db/database.ts';
import type { RowOf } from '../../db/schema.ts';
import { failureText } from '../../domain/upstream-status.ts';
import { jitter, type Random } from '../../lib/random.ts';
import type { TaskErrorSample, TaskRequest } from '../task.ts';
import type { HostAway, StepFailure } from './lease.ts';
import { failedStepOf, requestOf, type TaskRow } from './task-rows.ts';
import { endTask } from './task-store.ts';

export interface FailureContext {
  readonly now: number;
  readonly random: Random;
}

const KEPT_SAMPLES = 10;
/** Minutes that a task waits for a host that fails. */
const HOST_PATIENCE = 8;
const LONGEST_REASON = 300;
/** Milliseconds. */
const LONGEST_BACKOFF = 300_000;
const BACKOFF_SPREAD = 0.2;

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
  const told = { ...failure, reason: failure.reason.slice(0, LONGEST_REASON) };
  await insertFailure(query, task.id, told, { attempts: 1, retry_at: retryAt, at: context.now });
  count(tally, told, retryAt === null, context.now);
}

export async function insertFailure(
  query: Statements,
  taskId: number,
  { z, rect, tiles, reason }: StepFailure,
  how: Pick<RowOf<'task_failures'>, 'attempts' | 'retry_at' | 'at'>,
): Promise<void> {
  const place = { z, min_x: rect.minX, min_y: rect.minY, max_x: rect.maxX, max_y: rect.maxY };
  await query
    .insertInto('task_failures')
    .values({ task_id: taskId, ...place, tiles, reason, token: null, ...how })
    .execute();
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
  count(tally, { ...failedStepOf(row), reason: shown }, retryAt === null, context.now);
}

/** Ends a task that has waited for a failing host for as long as it may. */
export async function abortIfHostStaysAway(
  query: Statements,
  task: TaskRow,
  { host, failure, since }: HostAway,
  now: number,
): Promise<boolean> {
  if (now - Math.max(since, task.started_at ?? now) < HOST_PATIENCE * 60_000) return false;
  const from = new Date(since).toISOString().replace(/\.\d+/, '');
  const reason = `host ${host} has been failing since ${from} (${failureText(failure)}); the task waited ${HOST_PATIENCE} minutes for it`;
  await endTask(query, task.id, 'failed', reason, now);
  return true;
}

/** Aborts the task when it has failed as often as it may. */
export async function abortOverLimit(
  query: Statements,
  task: TaskRow,
  tally: FailureTally,
  now: number,
): Promise<boolean> {
  if (tally.steps === 0) return false;
  const failures = task.failures + tally.steps;
  if (failures < requestOf(task).totalFailuresBeforeAborting) return false;
  const last = tally.samples.at(-1)?.message ?? 'unknown';
  const many = failures === 1 ? '1 failure' : `${failures} failures`;
  const reason = `${many}, as many as totalFailuresBeforeAborting allows; the last: ${last}`;
  await endTask(query, task.id, 'failed', reason, now);
  return true;
}

export function mergeSamples(kept: string, fresh: readonly TaskErrorSample[]): string {
  const samples = JSON.parse(kept) as TaskErrorSample[];
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
