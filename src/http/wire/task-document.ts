import { isoTime } from '../../lib/clock.ts';
import type { Task, TaskWait } from '../../tasks/task.ts';
import { waitText } from '../../tasks/task-watch.ts';

/** A task as our own interface and its events show it. Times are ISO 8601, in UTC. */
export function taskDocument({ id, eventId: _, request, ...task }: Task): object {
  const { layer, type, parametersId: _id, waitsForHosts: _waits, bounds, area, ...asked } = request;
  return {
    ...{ id, layer, type },
    ...task,
    ...asked,
    secondsRemaining: Math.ceil(task.secondsRemaining),
    waitingFor: task.waitingFor && waitDocument(task.waitingFor),
    bounds: [bounds.minX, bounds.minY, bounds.maxX, bounds.maxY],
    area: area && { type: 'MultiPolygon', coordinates: area },
    errors: task.errors.map((error) => ({ ...error, at: isoTime(error.at) })),
    createdAt: isoTime(task.createdAt),
    startedAt: isoTime(task.startedAt),
    endedAt: isoTime(task.endedAt),
  };
}

function waitDocument(wait: TaskWait): object {
  const host = 'host' in wait ? wait.host : null;
  return { host, until: isoTime(wait.until), reason: wait.reason, text: waitText(wait) };
}
