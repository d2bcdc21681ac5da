import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

export function countParameterSets(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return statements(
    `create table parameter_sets (
       layer text not null,
       id text not null,
       noted_at ${bigint} not null,
       primary key (layer, id)
     )`,
  );
}
