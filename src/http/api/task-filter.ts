import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import { TASK_OUTCOMES, TASK_STATES, TASK_TYPES, type TaskType } from '../../tasks/task.ts';
import type { TaskFilter } from '../../tasks/task-service.ts';
import { anyTime, count, flag, moment, name, wholeNumber } from './values.ts';

/** Query parameters that may be given more than once. */
export const REPEATABLE = ['state', 'outcome'] as const;

const listed = <Values extends readonly string[]>(values: Values, what: string) =>
  z
    .string()
    .transform((text) => text.split(',').map((value) => value.trim()))
    .pipe(z.array(z.enum(values)))
    .describe(`${what}: any of ${values.join(', ')}; repeated, or separated by commas`);

/** `GET /api/v1/tasks` */
export const taskListQuery = z.strictObject({
  state: listed(TASK_STATES, 'State').exactOptional(),
  outcome: listed(TASK_OUTCOMES, 'How they ended').exactOptional(),
  layer: name.exactOptional(),
  type: z.enum(TASK_TYPES).exactOptional(),
  since: anyTime.exactOptional().describe('Created at or after this time'),
  until: anyTime.exactOptional().describe('Created before this time'),
  after: wholeNumber(0).exactOptional().describe('`nextAfter` of the page before'),
  before: wholeNumber(0).exactOptional().describe('The old name of `after`'),
  limit: wholeNumber(0).default(50).describe('At most 500'),
});

const oneOrMore = <Value extends z.ZodType>(value: Value) => z.union([value, z.array(value).min(1)]);

const filterFields = {
  state: oneOrMore(z.enum(TASK_STATES)).exactOptional(),
  outcome: oneOrMore(z.enum(TASK_OUTCOMES)).exactOptional(),
  layer: name.exactOptional(),
  type: z.enum(TASK_TYPES).exactOptional(),
  since: moment.exactOptional().describe('Created at or after this time'),
  until: moment.exactOptional().describe('Created before this time'),
};

/** `POST /api/v1/tasks/stop` */
export const stopBody = z.strictObject({
  ...filterFields,
  all: z.literal(true).exactOptional().describe('Every task that has not ended; in place of a filter'),
  dryRun: flag.describe('Only counts them'),
});

export const stopResponse = z.object({
  count: z.object({ running: count, pending: count, paused: count }),
  tasks: z.array(z.number().int()).describe('The tasks that were stopped; empty with dryRun'),
});

type FilterFields<Time> = {
  readonly [Field in 'state' | 'outcome']?:
    | TaskFilter[`${Field}s`]
    | NonNullable<TaskFilter[`${Field}s`]>[number];
} & { readonly layer?: string; readonly type?: TaskType } & {
  readonly since?: Time;
  readonly until?: Time;
};

export function taskFilterOf(fields: FilterFields<number | string>): TaskFilter {
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

/** An empty filter does not mean all tasks: that must be explicit. */
export function stopFilterOf({ all, dryRun: _, ...fields }: z.output<typeof stopBody>): TaskFilter {
  const given = Object.keys(fields);
  if (all && given.length > 0)
    throw invalid(`all cannot be given with ${given.join(', ')}; give one or the other.`);
  if (!all && given.length === 0) {
    const allowed = Object.keys(filterFields).join(', ');
    throw invalid(`The body names no tasks; give some of ${allowed}, or "all": true for every task.`);
  }
  return taskFilterOf(fields);
}
