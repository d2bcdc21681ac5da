import { type Caller, mayWorkOn, mayWorkOnAll } from '../../access/caller.ts';
import { boundLayer } from '../../catalog/catalog.ts';
import { type Task, type TaskState, UNFINISHED } from '../../tasks/task.ts';
import type { TaskFilter } from '../../tasks/task-service.ts';
import { requireLayerScope } from '../auth/request-checks.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { type stopBody, stopFilterOf } from './task-filter.ts';

export async function stopTasks(
  { body, caller, note }: Call<{ body: typeof stopBody }>,
  { catalog, tasks }: ApiDeps,
) {
  const filter = stopFilterOf(body);
  if (body.layer !== undefined) requireLayerScope(caller, boundLayer(catalog, body.layer).layer.name);
  const own = await ownUnfinished(tasks, caller, filter);
  if (body.dryRun) return { count: stoppable((await tasks.count(own)).state), tasks: [] };
  const stopped = await tasks.cancel(own, caller.name);
  const count = stoppable(countOf(stopped));
  const target = body.layer === undefined ? 'tasks' : `layer:${body.layer}`;
  note({ target, after: { count }, summary: `stopped ${stopped.length} tasks` });
  return { count, tasks: stopped.map(({ id }) => id) };
}

/** Of the tasks that a filter describes, those that have not ended and that the caller may stop. */
export async function ownUnfinished(
  tasks: Pick<ApiDeps['tasks'], 'layersOf'>,
  caller: Caller,
  filter: TaskFilter,
): Promise<TaskFilter> {
  const states = UNFINISHED.filter((state) => filter.states?.includes(state) ?? true);
  const unfinished = { ...filter, states };
  if (mayWorkOnAll(caller)) return unfinished;
  const layers = await tasks.layersOf(unfinished);
  return { ...unfinished, layers: layers.filter((layer) => mayWorkOn(caller, layer)) };
}

function countOf(tasks: readonly Task[]): Readonly<Record<TaskState, number>> {
  const count = { pending: 0, running: 0, paused: 0, done: 0, aborted: 0 };
  for (const { state } of tasks) count[state] += 1;
  return count;
}

function stoppable({ running, pending, paused }: Readonly<Record<TaskState, number>>) {
  return { running, pending, paused };
}
