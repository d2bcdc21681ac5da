import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { statements } from './statements.ts';

/** One order for the writers of tiles and for truncations, later than every generation that was raised before. */
export function giveOutTickets(dialect: Dialect): Migration {
  return statements(
    ...(dialect === 'sqlite'
      ? []
      : [
          'create sequence tile_tickets',
          `select setval('tile_tickets', greatest(1, (select max(number) from tile_generations),
             (select max(number) from tile_marks)))`,
        ]),
  );
}
