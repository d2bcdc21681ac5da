import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** What every node shows alike: what tasks wait for, and how it goes with hosts. */
export function shareChanges(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return statements(
    'alter table tasks add column waiting text',
    `create table host_news (
       host text primary key,
       instance text not null,
       news text not null,
       until ${bigint} not null
     )`,
  );
}
