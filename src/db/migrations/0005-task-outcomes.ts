import type { Migration } from 'kysely';
import { statements } from './statements.ts';

/** How tasks ended, and indexes for lists that are filtered by it: each begins with one field and has the order of lists. */
export function addTaskOutcomes(): Migration {
  return statements(
    'alter table tasks add column outcome text',
    `update tasks set outcome = case
       when state = 'done' then 'ok'
       when reason like 'stopped by %' then 'stopped'
       when failed > 0 and failed < tiles_total and tiles_processed = tiles_total then 'partial'
       else 'failed' end
     where state in ('done', 'aborted')`,
    'create index tasks_by_outcome on tasks (outcome, id)',
    'create index tasks_by_type on tasks (type, id)',
    'create index tasks_by_created_at on tasks (created_at, id)',
    // Counts read this index alone.
    'create index tasks_by_filter on tasks (state, outcome, type, layer, created_at)',
  );
}
