import type { Task, TaskWait } from '../../tasks/task.ts';
import { waitText } from '../../tasks/task-waits.ts';

/** A task as our own interface and its events show it. Times are ISO 8601, in UTC. */
export function taskDocument(task: Task): object {
  const { request, counters, errors } = task;
  const { minX, minY, maxX, maxY } = request.bounds;
  return {
    id: task.id,
    layer: request.layer,
    type: request.type,
    state: task.state,
    tilesProcessed: task.tilesProcessed,
    tilesTotal: task.tilesTotal,
    secondsRemaining: Math.ceil(task.secondsRemaining),
    tilesPerSecond: task.tilesPerSecond,
    reason: task.reason,
    waitingFor: task.waitingFor && waitDocument(task.waitingFor),
    gridSet: request.gridSet,
    format: request.format,
    parameters: request.parameters,
    zoomStart: request.zoomStart,
    zoomStop: request.zoomStop,
    bounds: [minX, minY, maxX, maxY],
    area: request.area && { type: 'MultiPolygon', coordinates: request.area },
    onlyStale: request.onlyStale,
    threadCount: request.threadCount,
    priority: request.priority,
    tileFailureRetryCount: request.tileFailureRetryCount,
    tileFailureRetryWaitTime: request.tileFailureRetryWaitTime,
    totalFailuresBeforeAborting: request.totalFailuresBeforeAborting,
    counters,
    errors: errors.map((error) => ({ ...error, at: timeOf(error.at) })),
    createdBy: task.createdBy,
    createdAt: timeOf(task.createdAt),
    startedAt: task.startedAt === null ? null : timeOf(task.startedAt),
    endedAt: task.endedAt === null ? null : timeOf(task.endedAt),
  };
}

function waitDocument(wait: TaskWait): object {
  const host = 'host' in wait ? wait.host : null;
  return { host, until: timeOf(wait.until), reason: wait.reason, text: waitText(wait) };
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
