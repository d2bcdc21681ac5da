import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

export function shareExports(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return statements(
    `create table exports (
       id text primary key,
       run ${bigint} not null,
       store text not null,
       document text not null,
       progress text not null,
       token ${bigint},
       expires_at ${bigint}
     )`,
  );
}
