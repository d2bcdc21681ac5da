import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { createTables } from './0001-create-tables.ts';
import { createPacks } from './0002-create-packs.ts';
import { turnExportsIntoTasks } from './0008-exports-as-tasks.ts';
import { postgresStatements, statements } from './statements.ts';

/** In the order in which they are carried out. Once released, none is ever changed. */
export const STEPS: Readonly<Record<string, (dialect: Dialect) => Migration>> = {
  '0001-create-tables': createTables,
  '0002-create-packs': createPacks,
  /** What every node shows alike: what tasks wait for, and how it goes with hosts. */
  '0003-share-news': statements(({ bigint }) => [
    'alter table tasks add column waiting text',
    `create table host_news (
       host text primary key,
       instance text not null,
       news text not null,
       until ${bigint} not null
     )`,
  ]),
  '0004-share-exports': statements(({ bigint }) => [
    `create table exports (
       id text primary key,
       run ${bigint} not null,
       store text not null,
       document text not null,
       progress text not null,
       token ${bigint},
       expires_at ${bigint}
     )`,
  ]),
  '0005-count-parameter-sets': statements(({ bigint }) => [
    `create table parameter_sets (
       layer text not null,
       id text not null,
       noted_at ${bigint} not null,
       primary key (layer, id)
     )`,
  ]),
  /**
   * Idempotency keys belong to the account that made the task, those of schedules to `schedule`. Accounts have no blank in
   * their names, so `schedule NAME` was a schedule.
   */
  '0006-separate-task-keys': statements(() => [
    'alter table tasks add column account text',
    'alter table tasks add column key_digest text',
    `update tasks set account = case
       when created_by like 'schedule %' then 'schedule'
       when created_by like 'token:%' then created_by
       else 'user:' || created_by end`,
    'drop index tasks_by_idempotency_key',
    'create unique index tasks_by_idempotency_key on tasks (account, idempotency_key)',
  ]),
  /** How tasks ended, and indexes for lists that are filtered by it: each begins with one field and has the order of lists. */
  '0007-task-outcomes': statements(() => [
    'alter table tasks add column outcome text',
    `update tasks set outcome = case
       when state = 'done' then 'ok'
       when reason like 'stopped by %' then 'stopped'
       when failed > 0 and failed < tiles_total and tiles_processed = tiles_total then 'partial'
       else 'failed' end
     where state in ('done', 'aborted')`,
    'create index tasks_by_outcome on tasks (outcome, id)',
    'create index tasks_by_type on tasks (type, id)',
    'create index tasks_by_created_at on tasks (created_at, id)',
    // Counts read this index alone.
    'create index tasks_by_filter on tasks (state, outcome, type, layer, created_at)',
  ]),
  '0008-exports-as-tasks': turnExportsIntoTasks,
  /** One order for the writers of tiles and for truncations, later than every generation that was raised before. */
  '0009-give-out-tickets': postgresStatements(
    'create sequence tile_tickets',
    `select setval('tile_tickets', greatest(1, (select max(number) from tile_generations),
       (select max(number) from tile_marks)))`,
  ),
  /** Feeds of data changes, their latest changes, and the entries of feeds that are read again and again. */
  '0010-feed-changes': statements(({ risingId, bigint }) => [
    `create table change_feeds (
       name text primary key,
       state text not null,
       last_at ${bigint},
       last_error text,
       received ${bigint} not null,
       applied ${bigint} not null,
       pending ${bigint} not null,
       newest ${bigint}
     )`,
    `create table changes (
       id ${risingId},
       feed text not null,
       at ${bigint} not null,
       event_id text,
       merged ${bigint} not null,
       layers text not null,
       boxes text
     )`,
    'create unique index changes_by_event on changes (feed, event_id)',
    'create index changes_by_time on changes (at)',
    `create table change_entries (
       feed text not null,
       id text not null,
       at ${bigint} not null,
       seen_at ${bigint} not null,
       primary key (feed, id)
     )`,
  ]),
  /** What goes out to other programs when data or states change, and which states have been reported. */
  '0011-create-deliveries': statements(({ risingId, bigint }) => [
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
  ]),
  /** Keys for readers, with what was drawn of their limits. */
  '0012-reader-keys': statements(({ risingId, bigint }) => [
    `create table reader_keys (
       id ${risingId},
       name text not null,
       hash text not null,
       layers text not null,
       origins text,
       rate_per_second ${bigint},
       requests_per_day ${bigint},
       expires_at ${bigint},
       created_by text not null,
       created_at ${bigint} not null,
       last_used_at ${bigint},
       rate_at ${bigint} not null,
       used_day ${bigint} not null,
       used ${bigint} not null
     )`,
    'create unique index reader_keys_by_hash on reader_keys (hash)',
  ]),
  /** Sessions of sign-ins by OpenID Connect, whose accounts are not users of ours. */
  '0013-oidc-sessions': statements(({ bigint }) => [
    `create table oidc_sessions (
       hash text primary key,
       account text not null,
       name text not null,
       role text not null,
       layers text not null,
       created_at ${bigint} not null,
       seen_at ${bigint} not null
     )`,
  ]),
  /** Marks that readers of a store obey until the tiles concerned have been removed or marked themselves. */
  '0014-open-marks': postgresStatements(
    `create table open_marks (
       store text not null, layer text not null, number bigint not null, effect jsonb not null,
       grid_set text, z smallint, place jsonb)`,
    'create index open_marks_layer on open_marks (store, layer)',
  ),
  /** Up to which change a node is: the clock of the database jumps when another server takes over. */
  '0015-number-node-changes': statements(({ bigint }) => [
    `alter table nodes add column applied ${bigint} not null default 0`,
  ]),
  /** Map servers that operators have paused. */
  '0016-pause-hosts': statements(({ bigint }) => [
    `create table host_pauses (
       host text primary key,
       paused_by text not null,
       paused_at ${bigint} not null
     )`,
  ]),
  /** Rights of external accounts follow from their claims at every use; before, sessions had a fixed role. */
  '0017-external-accounts': statements(({ risingId, bigint }) => [
    'drop table oidc_sessions',
    `create table oidc_sessions (
       hash text primary key,
       account text not null,
       created_at ${bigint} not null,
       seen_at ${bigint} not null
     )`,
    `create table external_accounts (
       id ${risingId},
       account text not null unique,
       issuer text,
       subject text not null,
       name text not null,
       claims text not null,
       claims_at ${bigint} not null
     )`,
    'alter table tokens add column account text',
  ]),
  /** The audit log is bounded by account, and keeps administrative changes apart from everything else. */
  '0018-bound-audit-entries': statements(() => [
    'alter table audit_entries add column account text',
    'alter table audit_entries add column administrative integer not null default 1',
    'create index audit_entries_by_account on audit_entries (administrative, account, id)',
    'create index audit_entries_by_kind on audit_entries (administrative, id)',
  ]),
  /** Stores keep the uses of their pages, and writers read the usage themselves. */
  '0020-uses-in-stores': statements(() => ['drop table page_uses', 'drop table quota_credit']),
};
