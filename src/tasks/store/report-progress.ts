import type { Statements } from '../../db/database.ts';
import { changeNumber } from '../../db/numbers.ts';
import { finishIfComplete, isRetry, returnPiece } from './finish-task.ts';
import type { Report, ReportResponse } from './lease.ts';
import { abortIfHostStaysAway, createFailureRecord, type FailureContext } from './record-failures.ts';
import { nextInTurn } from './take-lease.ts';
import { lockTasks, type TaskRow, taskRow } from './task-rows.ts';

/** Milliseconds of thread time by which a task may be ahead of another before it gives way. */
const FAIR_MARGIN = 1000;

export async function reportProgress(
  query: Statements,
  reports: readonly Report[],
  context: FailureContext,
): Promise<readonly ReportResponse[]> {
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
  const answers: ReportResponse[] = [];
  for (const report of reports) answers.push(await reportOne(query, report, context));
  return answers;
}

async function reportOne(
  query: Statements,
  report: Report,
  context: FailureContext,
): Promise<ReportResponse> {
  const lease = await query
    .selectFrom('task_leases')
    .selectAll()
    .where('token', '=', report.token)
    .where('owner', 'is not', null)
    .executeTakeFirst();
  if (!lease) return 'over';
  if (lease.beat > report.beat) return 'go-on';
  const task = await taskRow(query, lease.task_id);
  const failures = createFailureRecord(query, task, context);
  for (const failure of report.failures) await failures.add(failure);
  for (const [id, failure] of report.retried) {
    if (failure === null) await query.deleteFrom('task_failures').where('id', '=', id).execute();
    if (failure !== null) await failures.addAgain(id, failure);
  }
  const { counts, workMs, wait, figures } = report;
  const event_id = await changeNumber(query);
  await query
    .updateTable('tasks')
    .set((eb) => ({
      event_id,
      fair_time: eb('fair_time', '+', (workMs * lease.threads) / task.weight),
      made: eb('made', '+', counts.made),
      present: eb('present', '+', counts.present),
      removed: eb('removed', '+', counts.removed),
      blank: eb('blank', '+', counts.blank),
      bytes: eb('bytes', '+', counts.bytes),
      upstream_requests: eb('upstream_requests', '+', counts.upstreamRequests),
      ...failures.changes(eb, counts.processed),
      ...(wait && { waiting: JSON.stringify({ ...wait, notedAt: context.now }) }),
      ...(figures && {
        tiles_processed: figures.tiles,
        tiles_total: figures.expected,
        bytes: figures.bytes ?? 0,
        file: figures.file,
      }),
    }))
    .where('id', '=', task.id)
    .execute();
  if (await failures.abortOverLimit()) return 'over';
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
  if (report.intent === 'go-on') return turnOf(query, task, lease.owner, report, context.now);
  await returnPiece(query, task.id, lease.piece, report.token);
  if (isRetry(lease.piece)) await finishIfComplete(query, task.id, context.now);
  return 'go-on';
}

/** Whether a worker without a free thread should make room: a small task waits, or one with less working time. */
async function turnOf(
  query: Statements,
  task: TaskRow,
  owner: string | null,
  report: Report,
  now: number,
): Promise<ReportResponse> {
  if (!report.crowded) return 'go-on';
  const others = nextInTurn(query, now, owner, [task.id, ...(report.resting ?? [])]);
  const other = await others.limit(1).executeTakeFirst();
  if (!other) return 'go-on';
  if (other.express !== task.express) return other.express > task.express ? 'hand-back' : 'go-on';
  return other.fair_time + FAIR_MARGIN < task.fair_time ? 'hand-back' : 'go-on';
}
