import { isoTime } from '../../lib/clock.ts';
import type { Schedule, ScheduleRun } from '../../tasks/schedules/schedule.ts';

/** Times are ISO 8601, in UTC. */
export function scheduleDocument(
  schedule: Schedule,
  nextRuns: readonly number[],
  lastRun: ScheduleRun | null,
): object {
  const { draft, work, nextDue: _, ...shown } = schedule;
  return {
    ...shown,
    type: work,
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
    nextRuns: nextRuns.map((at) => isoTime(at)),
    lastRun: lastRun && runDocument(lastRun),
    createdAt: isoTime(schedule.createdAt),
  };
}

export function runDocument({ dueAt, at, state, taskId, detail }: ScheduleRun) {
  return { dueAt: isoTime(dueAt), at: isoTime(at), state, taskId, detail };
}
