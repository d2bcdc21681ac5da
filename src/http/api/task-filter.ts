/** Filters of tasks, and `POST /api/v1/tasks/stop`. */
import { z } from 'zod';
import { mayWorkOnAll } from '../../access/caller.ts';
import { boundLayer } from '../../catalog/catalog.ts';
import { invalid } from '../../domain/errors.ts';
import { TASK_OUTCOMES, TASK_STATES, TASK_TYPES, type TaskState, UNFINISHED } from '../../tasks/task.ts';
import type { TaskFilter } from '../../tasks/task-filter.ts';
import { mayChange, requireLayerScope } from '../auth/layer-visibility.ts';
import type { Context } from '../context.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { count, flag, name, timeInBody, timeInQuery, wholeNumber } from './values.ts';

export const REPEATABLE = ['state', 'outcome'] as const;

const listOf = <Values extends readonly string[]>(values: Values, label: string) =>
  z
    .string()
    .transform((text) => text.split(',').map((value) => value.trim()))
    .pipe(z.array(z.enum(values)))
    .describe(`${label}: any of ${values.join(', ')}; repeated, or separated by commas`);

export const taskListQuery = z.strictObject({
  state: listOf(TASK_STATES, 'State').exactOptional(),
  outcome: listOf(TASK_OUTCOMES, 'Outcome').exactOptional(),
  layer: name.exactOptional(),
  type: z.enum(TASK_TYPES).exactOptional(),
  since: timeInQuery.exactOptional().describe('Created at or after this time'),
  until: timeInQuery.exactOptional().describe('Created before this time'),
  after: wholeNumber(0).exactOptional().describe('`nextAfter` of the previous page'),
  limit: wholeNumber(0).default(50).describe('At most 500'),
});

const oneOrMore = <Value extends z.ZodType>(value: Value) => z.union([value, z.array(value).min(1)]);

const filterFields = {
  state: oneOrMore(z.enum(TASK_STATES)).exactOptional(),
  outcome: oneOrMore(z.enum(TASK_OUTCOMES)).exactOptional(),
  layer: name.exactOptional(),
  type: z.enum(TASK_TYPES).exactOptional(),
  since: timeInBody.exactOptional().describe('Created at or after this time'),
  until: timeInBody.exactOptional().describe('Created before this time'),
};

export const stopBody = z.strictObject({
  ...filterFields,
  all: z.literal(true).exactOptional().describe('All unfinished tasks; in place of a filter'),
  dryRun: flag.describe('Only counts them'),
});

export const stopResponse = z.object({
  count: z.object({ running: count, pending: count, paused: count }),
  tasks: z.array(z.number().int()).describe('The tasks that were stopped; empty with dryRun'),
});

type FilterFields =
  | Omit<z.output<typeof taskListQuery>, 'after' | 'limit'>
  | Omit<z.output<typeof stopBody>, 'all' | 'dryRun'>;

export function taskFilterOf(fields: FilterFields): TaskFilter {
  const { state, outcome, layer, type, since, until } = fields;
  return {
    ...(state !== undefined && { states: [state].flat() }),
    ...(outcome !== undefined && { outcomes: [outcome].flat() }),
    ...(layer !== undefined && { layers: [layer] }),
    ...(type !== undefined && { types: [type] }),
    ...(since !== undefined && { since: new Date(since).getTime() }),
    ...(until !== undefined && { until: new Date(until).getTime() }),
  };
}

/** An empty filter is refused: to stop all tasks, a caller must send `all`. */
function stopFilterOf({ all, dryRun: _, ...fields }: z.output<typeof stopBody>): TaskFilter {
  const names = Object.keys(fields);
  if (all && names.length > 0)
    throw invalid(`all cannot be given with ${names.join(', ')}; give one or the other.`);
  if (!all && names.length === 0) {
    const allowed = Object.keys(filterFields).join(', ');
    throw invalid(`The body names no tasks; give some of ${allowed}, or "all": true for every task.`);
  }
  return taskFilterOf(fields);
}

export async function stopTasks(
  { body, caller, context, note }: Call<{ body: typeof stopBody }>,
  { catalog, tasks }: ApiDeps,
) {
  const filter = stopFilterOf(body);
  requireLayerScope(context, body.layer);
  if (body.layer !== undefined) boundLayer(catalog, body.layer);
  const own = await ownUnfinished(tasks, context, filter);
  if (body.dryRun) {
    const { running, pending, paused } = (await tasks.count(own)).state;
    return { count: { running, pending, paused }, tasks: [] };
  }
  const stopped = await tasks.cancel(own, caller.name);
  const countOf = (state: TaskState) => stopped.filter((task) => task.state === state).length;
  const count = { running: countOf('running'), pending: countOf('pending'), paused: countOf('paused') };
  const target = body.layer === undefined ? 'tasks' : `layer:${body.layer}`;
  note({ target, after: { count }, summary: `stopped ${stopped.length} tasks` });
  return { count, tasks: stopped.map(({ id }) => id) };
}

/** Narrows the filter to unfinished tasks that the caller may stop. */
export async function ownUnfinished(
  tasks: Pick<ApiDeps['tasks'], 'layersOf'>,
  context: Context,
  filter: TaskFilter,
): Promise<TaskFilter> {
  const states = UNFINISHED.filter((state) => filter.states?.includes(state) ?? true);
  const unfinished = { ...filter, states };
  const { caller } = context;
  if (caller?.role === 'admin' && mayWorkOnAll(caller)) return unfinished;
  const layers = await tasks.layersOf(unfinished);
  return { ...unfinished, layers: layers.filter((layer) => mayChange(context, layer)) };
}
