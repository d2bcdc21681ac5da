import type { Database, Statements } from '../../db/database.ts';
import { dialectOf } from '../../db/numbers.ts';
import { TASK_OUTCOMES, TASK_STATES, type TaskOutcome, type TaskState } from '../task.ts';
import type { TaskCounts, TaskFilter } from '../task-service.ts';

export function filteredTasks(query: Statements, filter: TaskFilter) {
  return narrowed(query, filter, false);
}

/** `isScan`: only the index of states is used. */
function narrowed(query: Statements, filter: TaskFilter, isScan: boolean) {
  let tasks = query.selectFrom('tasks');
  const lists = [filter.ids, filter.states, filter.outcomes, filter.layers, filter.types];
  // PostgreSQL has no empty list.
  if (lists.some((list) => list?.length === 0)) return tasks.where(({ lit }) => lit(false));
  if (filter.ids) tasks = tasks.where('id', 'in', [...filter.ids]);
  if (filter.upTo !== undefined) tasks = tasks.where('id', '<=', filter.upTo);
  if (filter.states) tasks = tasks.where('state', 'in', [...filter.states]);
  const texts = { outcome: filter.outcomes, layer: filter.layers, type: filter.types } as const;
  for (const name of ['outcome', 'layer', 'type'] as const) {
    const values = texts[name];
    if (values)
      tasks = tasks.where(({ eb, fn, ref }) =>
        eb(isScan ? fn.coalesce(name, name) : ref(name), 'in', [...values]),
      );
  }
  if (filter.exported) tasks = tasks.where('export_id', 'is not', null);
  if (filter.since !== undefined) tasks = tasks.where('created_at', '>=', filter.since);
  if (filter.until !== undefined) tasks = tasks.where('created_at', '<', filter.until);
  return tasks;
}

/**
 * SQLite prefers the index of a field and then reads a wide row for each match, several times the cost of reading all of
 * `tasks_by_filter`, which has every field of a filter.
 */
export function countedTasks(query: Statements, filter: TaskFilter) {
  const isScan = dialectOf(query) === 'sqlite' && !filter.ids;
  return narrowed(query, filter, isScan)
    .select(({ fn }) => ['state', 'outcome', fn.countAll().as('count')])
    .groupBy(['state', 'outcome']);
}

export async function countTasks({ query }: Database, filter: TaskFilter): Promise<TaskCounts> {
  const rows = await countedTasks(query, filter).execute();
  const sum = (fits: (row: (typeof rows)[number]) => boolean) =>
    rows.filter(fits).reduce((total, { count }) => total + Number(count), 0);
  const states = TASK_STATES.map((state) => [state, sum((row) => row.state === state)]);
  const outcomes = TASK_OUTCOMES.map((outcome) => [outcome, sum((row) => row.outcome === outcome)]);
  return {
    state: Object.fromEntries(states) as Record<TaskState, number>,
    outcome: Object.fromEntries(outcomes) as Record<TaskOutcome, number>,
  };
}
