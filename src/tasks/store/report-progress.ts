import type { Statements } from '../../db/database.ts';
import { changeNumber } from '../../db/numbers.ts';
import { finishIfComplete } from './finish-task.ts';
import type { Report, ReportAnswer } from './lease.ts';
import {
  abortIfHostStaysAway,
  abortOverLimit,
  type FailureContext,
  type FailureTally,
  mergeSamples,
  noFailures,
  recordFailure,
  recordFailureAgain,
} from './record-failures.ts';
import { nextInTurn } from './take-lease.ts';
import { lockTasks, type TaskRow } from './task-rows.ts';
import { isRetry, returnPiece } from './task-store.ts';

/** Milliseconds of threads that a task may be ahead of another before it gives way. */
const FAIR_MARGIN = 1000;

export async function reportProgress(
  query: Statements,
  reports: readonly Report[],
  context: FailureContext,
): Promise<readonly ReportAnswer[]> {
  const tokens = reports.map(({ token }) => token);
  const leases = await query
    .selectFrom('task_leases')
    .select('task_id')
    .distinct()
    .where('token', 'in', tokens)
    .execute();
  await lockTasks(
    query,
    leases.map((lease) => lease.task_id),
  );
  const answers: ReportAnswer[] = [];
  for (const report of reports) answers.push(await reportOne(query, report, context));
  return answers;
}

async function reportOne(query: Statements, report: Report, context: FailureContext): Promise<ReportAnswer> {
  const lease = await query
    .selectFrom('task_leases')
    .selectAll()
    .where('token', '=', report.token)
    .where('owner', 'is not', null)
    .executeTakeFirst();
  if (!lease) return 'over';
  if (lease.beat > report.beat) return 'go-on';
  const task = await query
    .selectFrom('tasks')
    .selectAll()
    .where('id', '=', lease.task_id)
    .executeTakeFirstOrThrow();
  const tally = await recordSteps(query, task, report, context);
  await addToTask(query, task, report, tally, { threads: lease.threads, now: context.now });
  if (await abortOverLimit(query, task, tally, context.now)) return 'over';
  const { hostAway } = report;
  if (hostAway && (await abortIfHostStaysAway(query, task, hostAway, context.now))) return 'over';
  if (report.intent === 'finish') {
    await query.deleteFrom('task_leases').where('token', '=', report.token).execute();
    await finishIfComplete(query, task.id, context.now);
    return 'go-on';
  }
  const moved = report.doneSteps !== lease.done_steps;
  await query
    .updateTable('task_leases')
    .set({ done_steps: report.doneSteps, beat: report.beat + 1, ...(moved ? { crashes: 0 } : {}) })
    .where('token', '=', report.token)
    .execute();
  if (report.intent === 'go-on') return turnOf(query, task, report, context.now);
  await returnPiece(query, task.id, lease.piece, report.token);
  if (isRetry(lease.piece)) await finishIfComplete(query, task.id, context.now);
  return 'go-on';
}

async function recordSteps(
  query: Statements,
  task: TaskRow,
  report: Report,
  context: FailureContext,
): Promise<FailureTally> {
  const tally = noFailures();
  for (const failure of report.failures) await recordFailure(query, task, failure, tally, context);
  for (const [id, reason] of report.retried) {
    if (reason === null) await query.deleteFrom('task_failures').where('id', '=', id).execute();
    if (reason !== null) await recordFailureAgain(query, task, id, reason, tally, context);
  }
  return tally;
}

async function addToTask(
  query: Statements,
  task: TaskRow,
  { counts, workMs, wait }: Report,
  tally: FailureTally,
  { threads, now }: { readonly threads: number; readonly now: number },
): Promise<void> {
  const eventId = await changeNumber(query);
  await query
    .updateTable('tasks')
    .set((eb) => ({
      event_id: eventId,
      fair_time: eb('fair_time', '+', (workMs * threads) / task.weight),
      tiles_processed: eb('tiles_processed', '+', counts.processed + tally.tiles),
      made: eb('made', '+', counts.made),
      present: eb('present', '+', counts.present),
      removed: eb('removed', '+', counts.removed),
      blank: eb('blank', '+', counts.blank),
      bytes: eb('bytes', '+', counts.bytes),
      upstream_requests: eb('upstream_requests', '+', counts.upstreamRequests),
      failed: eb('failed', '+', tally.tiles),
      failures: eb('failures', '+', tally.steps),
      ...(wait ? { waiting: JSON.stringify({ ...wait, notedAt: now }) } : {}),
      ...(tally.samples.length > 0 ? { error_samples: mergeSamples(task.error_samples, tally.samples) } : {}),
    }))
    .where('id', '=', task.id)
    .execute();
}

/** Whether a worker that has no thread free should make room: a small task waits, or one that has had less. */
async function turnOf(query: Statements, task: TaskRow, report: Report, now: number): Promise<ReportAnswer> {
  if (!report.crowded) return 'go-on';
  const others = nextInTurn(query, now, [task.id, ...(report.resting ?? [])]);
  const other = await others.limit(1).executeTakeFirst();
  if (!other) return 'go-on';
  if (other.express !== task.express) return other.express > task.express ? 'hand-back' : 'go-on';
  return other.fair_time + FAIR_MARGIN < task.fair_time ? 'hand-back' : 'go-on';
}
