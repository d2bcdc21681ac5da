import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

export function createNodes(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return statements(
    `create table nodes (
       instance text primary key,
       address text,
       name text not null,
       roles text not null,
       version text not null,
       started_at ${bigint} not null,
       seen_at ${bigint} not null,
       leader ${bigint} not null,
       heard_at ${bigint} not null
     )`,
    'drop index tasks_by_event_id',
    'create index tasks_by_event on tasks (event_id, id)',
    ...(dialect === 'postgres' ? NUMBERS_ANEW : []),
  );
}

/** Several changes may have one number, and in PostgreSQL numbers come from no row that all would share. */
const NUMBERS_ANEW = [
  'create sequence lease_tokens',
  "select setval('lease_tokens', (select value + 1 from counters where name = 'lease-tokens'))",
  "delete from counters where name in ('task-events', 'lease-tokens')",
  'update tasks set event_id = 0',
];
