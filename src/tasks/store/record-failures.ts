import type { Conditions, Statements } from '../../db/database.ts';
import { failureText } from '../../domain/upstream-status.ts';
import { jitter, type Random } from '../../lib/random.ts';
import type { TaskErrorSample } from '../task.ts';
import { endTask } from './finish-task.ts';
import type { FailureReason, HostAway, StepFailure } from './lease.ts';
import { failedStepOf, requestOf, type TaskRow } from './task-rows.ts';

export interface FailureContext {
  readonly now: number;
  readonly random: Random;
}

const KEPT_SAMPLES = 10;
/** Minutes that a task waits for a host that fails. */
const HOST_TIMEOUT_MINUTES = 8;
const MAX_REASON = 300;
/** Milliseconds. */
const MAX_BACKOFF = 300_000;
const BACKOFF_SPREAD = 0.2;

/** Records failures of a task's steps, each of which waits for another attempt or is given up, and adds them up. */
export function createFailureRecord(query: Statements, task: TaskRow, { now, random }: FailureContext) {
  const request = requestOf(task);
  const samples: TaskErrorSample[] = [];
  /** Given up: counted as processed, because they will not be tried again. */
  let tiles = 0n;
  let steps = 0;

  function count(
    { z, rect, tiles: failed, reason, upstream = null }: StepFailure,
    retryAt: number | null,
  ): void {
    samples.push({ at: now, z, x: rect.minX, y: rect.minY, message: reason, upstream });
    if (retryAt !== null) return;
    tiles += failed;
    steps += 1;
  }

  function retryTime(attempts: number): number | null {
    if (attempts > request.tileFailureRetryCount) return null;
    const wait = Math.min(
      request.tileFailureRetryWaitTime * 2 ** (attempts - 1),
      Math.max(MAX_BACKOFF, request.tileFailureRetryWaitTime),
    );
    return Math.round(now + jitter(wait, BACKOFF_SPREAD, random));
  }

  async function insert(failure: StepFailure, attempts: number, retryAt: number | null): Promise<void> {
    const { z, rect, tiles: failed } = failure;
    const reason = failure.reason.slice(0, MAX_REASON);
    const place = { z, min_x: rect.minX, min_y: rect.minY, max_x: rect.maxX, max_y: rect.maxY };
    const how = { attempts, retry_at: retryAt, at: now, token: null };
    await query
      .insertInto('task_failures')
      .values({ task_id: task.id, ...place, tiles: failed, reason, ...how })
      .execute();
    count({ ...failure, reason }, retryAt);
  }

  return {
    add: (failure: StepFailure): Promise<void> => insert(failure, 1, retryTime(1)),
    /** Regardless of the attempts that the task allows. */
    giveUp: (failure: StepFailure, attempts: number): Promise<void> => insert(failure, attempts, null),
    async addAgain(id: number, { reason, upstream = null }: FailureReason): Promise<void> {
      const failed = query.selectFrom('task_failures').selectAll().where('id', '=', id);
      const row = await failed.executeTakeFirstOrThrow();
      const attempts = row.attempts + 1;
      const retryAt = retryTime(attempts);
      const shown = reason.slice(0, MAX_REASON);
      await query
        .updateTable('task_failures')
        .set({ attempts, retry_at: retryAt, token: null, reason: shown, at: now })
        .where('id', '=', id)
        .execute();
      count({ ...failedStepOf(row), reason: shown, upstream }, retryAt);
    },
    changes(eb: Conditions<'tasks'>, processed: bigint) {
      const earlier = JSON.parse(task.error_samples) as TaskErrorSample[];
      const errors = JSON.stringify([...earlier, ...samples].slice(-KEPT_SAMPLES));
      return {
        tiles_processed: eb('tiles_processed', '+', processed + tiles),
        failed: eb('failed', '+', tiles),
        failures: eb('failures', '+', steps),
        ...(samples.length > 0 && { error_samples: errors }),
      };
    },
    async abortOverLimit(): Promise<boolean> {
      const failures = task.failures + steps;
      if (steps === 0 || failures < request.totalFailuresBeforeAborting) return false;
      const last = samples.at(-1)?.message ?? 'unknown';
      const many = failures === 1 ? '1 failure' : `${failures} failures`;
      const reason = `${many}, as many as totalFailuresBeforeAborting allows; the last: ${last}`;
      await endTask(query, task.id, 'failed', reason, now);
      return true;
    },
  };
}

export async function abortIfHostStaysAway(
  query: Statements,
  task: TaskRow,
  { host, failure, since }: HostAway,
  now: number,
): Promise<boolean> {
  if (now - Math.max(since, task.started_at ?? now) < HOST_TIMEOUT_MINUTES * 60_000) return false;
  const from = new Date(since).toISOString().replace(/\.\d+/, '');
  const reason = `host ${host} has been failing since ${from} (${failureText(failure)}); the task waited ${HOST_TIMEOUT_MINUTES} minutes for it`;
  await endTask(query, task.id, 'failed', reason, now);
  return true;
}
