import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** What goes out to other programs when data or states change, and which states have been reported. */
export function createDeliveries(dialect: Dialect): Migration {
  const { risingId, bigint } = columnsOf(dialect);
  return statements(
    `create table deliveries (
       number ${risingId},
       id text not null unique,
       kind text not null,
       name text not null,
       state text not null,
       payload text not null,
       revision integer not null,
       attempts integer not null,
       last_error text,
       at ${bigint} not null,
       next_at ${bigint} not null,
       until ${bigint} not null
     )`,
    'create index deliveries_by_due on deliveries (state, kind, name, next_at)',
    `create table reported_states (
       subject text primary key,
       at ${bigint} not null
     )`,
  );
}
