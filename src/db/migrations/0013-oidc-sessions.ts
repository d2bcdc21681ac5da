import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** Sign-ins by OpenID Connect: those under way, and sessions, whose accounts are not users of ours. */
export function createOidcSessions(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return statements(
    `create table oidc_logins (
       state text primary key,
       browser text not null,
       document text not null,
       at ${bigint} not null
     )`,
    'create index oidc_logins_by_at on oidc_logins (at)',
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
