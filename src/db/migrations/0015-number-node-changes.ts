import type { Migration } from 'kysely';
import { statements } from './statements.ts';

/** Up to which change a node is: the clock of the database jumps when another server takes over. */
export function numberNodeChanges(): Migration {
  return statements('alter table nodes add column applied bigint not null default 0');
}
