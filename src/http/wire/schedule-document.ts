import type { Schedule, ScheduleRun } from '../../tasks/schedules/schedule.ts';

/** Times are ISO 8601, in UTC. */
export function scheduleDocument(
  schedule: Schedule,
  nextRuns: readonly number[],
  lastRun: ScheduleRun | null,
): object {
  const { draft } = schedule;
  return {
    id: schedule.id,
    layer: schedule.layer,
    name: schedule.name,
    type: schedule.work,
    cron: schedule.cron,
    timeZone: schedule.timeZone,
    hours: schedule.hours,
    overrun: schedule.overrun,
    enabled: schedule.enabled,
    origin: schedule.origin,
    gridSet: draft.gridSetId ?? null,
    format: draft.format ?? null,
    parameters: draft.parameters ? Object.fromEntries(draft.parameters) : null,
    zoomStart: draft.zoomStart ?? null,
    zoomStop: draft.zoomStop ?? null,
    bounds: draft.coords ?? null,
    area: draft.area ? { type: 'MultiPolygon', coordinates: draft.area.polygons } : null,
    areaCrs: draft.area?.crs ?? null,
    threadCount: draft.threadCount ?? null,
    priority: draft.priority ?? null,
    tileFailureRetryCount: draft.tileFailureRetryCount ?? null,
    tileFailureRetryWaitTime: draft.tileFailureRetryWaitTime ?? null,
    totalFailuresBeforeAborting: draft.totalFailuresBeforeAborting ?? null,
    nextRuns: nextRuns.map(timeOf),
    lastRun: lastRun && runDocument(lastRun),
    createdBy: schedule.createdBy,
    createdAt: timeOf(schedule.createdAt),
  };
}

export function runDocument({ dueAt, at, state, taskId, detail }: ScheduleRun) {
  return { dueAt: timeOf(dueAt), at: timeOf(at), state, taskId, detail };
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
