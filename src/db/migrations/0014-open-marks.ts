import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { statements } from './statements.ts';

/** Marks that readers of a store obey until the tiles concerned have been removed or marked themselves. */
export function addOpenMarks(dialect: Dialect): Migration {
  return statements(
    ...(dialect === 'sqlite'
      ? []
      : [
          `create table open_marks (
             store text not null, layer text not null, number bigint not null, effect jsonb not null,
             grid_set text, z smallint, place jsonb)`,
          'create index open_marks_layer on open_marks (store, layer)',
        ]),
  );
}
