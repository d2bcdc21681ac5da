import type { Task } from '../../tasks/task.ts';

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
    gridSet: request.gridSet,
    format: request.format,
    parameters: request.parameters,
    zoomStart: request.zoomStart,
    zoomStop: request.zoomStop,
    bounds: [minX, minY, maxX, maxY],
    area: request.area && { type: 'MultiPolygon', coordinates: request.area },
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

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
