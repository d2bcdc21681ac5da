import type { Migration } from 'kysely';
import { statements } from './statements.ts';

/**
 * Idempotency keys belong to the account that made the task, those of schedules to `schedule`. Accounts have no blank in
 * their names, so `schedule NAME` was a schedule.
 */
export function separateTaskKeys(): Migration {
  return statements(
    'alter table tasks add column account text',
    'alter table tasks add column key_digest text',
    `update tasks set account = case
       when created_by like 'schedule %' then 'schedule'
       when created_by like 'token:%' then created_by
       else 'user:' || created_by end`,
    'drop index tasks_by_idempotency_key',
    'create unique index tasks_by_idempotency_key on tasks (account, idempotency_key)',
  );
}
