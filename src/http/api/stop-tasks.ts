import { type Caller, mayWorkOn, mayWorkOnAll } from '../../access/caller.ts';
import { boundLayer } from '../../catalog/catalog.ts';
import { type Task, type TaskState, UNFINISHED } from '../../tasks/task.ts';
import type { TaskFilter } from '../../tasks/task-service.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { refuseForeignLayer } from '../door/gate.ts';
import { callerName, type Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { isDryRun, readBody } from '../wire/read-body.ts';
import { stopBody, stopFilterOf } from '../wire/task-filter.ts';

type Tasks = Pick<RouteDeps['tasks'], 'cancel' | 'count' | 'layersOf'>;

/** `/api/v1/tasks/stop` */
export function stopTaskRoutes({ catalog, tasks }: RouteDeps): readonly Route[] {
  const path = '/api/v1/tasks/stop';
  return [{ method: 'POST', path, role: 'operator', handler: stop, asksOnly: isDryRun }];

  async function stop(exchange: Exchange): Promise<Answer> {
    const body = readBody(exchange, stopBody);
    const filter = stopFilterOf(body);
    if (body.layer !== undefined)
      refuseForeignLayer(exchange.caller, boundLayer(catalog, body.layer).layer.name);
    const own = await ownUnfinished(tasks, exchange.caller, filter);
    if (body.dryRun) return jsonAnswer({ count: stoppable((await tasks.count(own)).state), tasks: [] });
    const stopped = await tasks.cancel(own, callerName(exchange));
    const count = stoppable(countOf(stopped));
    exchange.change = {
      target: body.layer === undefined ? 'tasks' : `layer:${body.layer}`,
      after: { count },
      summary: `stopped ${stopped.length} tasks`,
    };
    return jsonAnswer({ count, tasks: stopped.map(({ id }) => id) });
  }
}

/** Of the tasks that a filter describes, those that have not ended and that the caller may stop. */
export async function ownUnfinished(
  tasks: Tasks,
  caller: Caller | null,
  filter: TaskFilter,
): Promise<TaskFilter> {
  const states = UNFINISHED.filter((state) => filter.states?.includes(state) ?? true);
  const unfinished = { ...filter, states };
  if (!caller) return { ...unfinished, layers: [] };
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
