import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** Sessions of sign-ins by OpenID Connect, whose accounts are not users of ours. */
export function createOidcSessions(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return statements(
    `create table oidc_sessions (
       hash text primary key,
       account text not null,
       name text not null,
       role text not null,
       layers text not null,
       created_at ${bigint} not null,
       seen_at ${bigint} not null
     )`,
  );
}
