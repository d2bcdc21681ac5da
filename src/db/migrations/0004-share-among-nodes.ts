import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { columnsOf, statements } from './statements.ts';

/** What nodes divide among them, and what they must know of each other. */
export function shareAmongNodes(dialect: Dialect): Migration {
  const { bigint, risingId } = columnsOf(dialect);
  return statements(
    `create table node_shares (
       name text not null,
       instance text not null,
       wanted ${bigint} not null,
       places ${bigint} not null,
       expires_at ${bigint} not null
     )`,
    'create unique index node_shares_key on node_shares (name, instance)',
    `create table audit_entries (id ${risingId}, at ${bigint} not null, line text not null)`,
    `create table login_failures (
       id ${risingId},
       at ${bigint} not null,
       instance text not null,
       source text not null,
       account text not null
     )`,
    `create table node_flights (
       metatile text primary key,
       instance text not null,
       expires_at ${bigint} not null
     )`,
    'create index login_failures_by_at on login_failures (at)',
    'create index page_uses_by_last_use on page_uses (last_used_at)',
  );
}
