import type { Dialect } from '../database.ts';

/** Every table except those of the index of tiles. */
export function createTables(dialect: Dialect): readonly string[] {
  const isSqlite = dialect === 'sqlite';
  /** Rises with every row and is never given out twice. */
  const risingId = isSqlite
    ? 'integer primary key autoincrement'
    : 'bigint generated always as identity primary key';
  const bigint = isSqlite ? 'integer' : 'bigint';
  const real = isSqlite ? 'real' : 'double precision';
  const columns = (type: string, ...names: readonly string[]) =>
    names.map((name) => `${name} ${type} not null`).join(', ');
  const texts = (...names: readonly string[]) => names.map((name) => `${name} text`).join(', ');
  const belongsToTask = `task_id ${bigint} not null references tasks (id) on delete cascade`;
  return [
    `create table counters (name text primary key, value ${bigint} not null)`,
    "insert into counters (name, value) values ('catalog', 0)",
    // PostgreSQL numbers changes by transactions and leases by a sequence, so that writers share no row.
    isSqlite
      ? "insert into counters (name, value) values ('task-events', 0), ('lease-tokens', 0)"
      : 'create sequence lease_tokens',

    `create table tasks (
       id ${risingId},
       ${columns('text', 'state', 'layer', 'type', 'request', 'plan', 'error_samples', 'created_by')},
       ${texts('outcome', 'reason', 'waiting', 'idempotency_key', 'account', 'key_digest', 'export_id', 'file')},
       ${columns(real, 'weight', 'fair_time')},
       ${columns(bigint, 'event_id', 'thread_count', 'express', 'piece_count', 'next_piece')},
       ${columns(bigint, 'tiles_total', 'tiles_processed', 'made', 'present', 'removed', 'blank', 'failed')},
       ${columns(bigint, 'bytes', 'upstream_requests', 'failures', 'created_at')},
       started_at ${bigint},
       ended_at ${bigint}
     )`,
    // Several changes may have one number.
    'create index tasks_by_event on tasks (event_id, id)',
    'create unique index tasks_by_idempotency_key on tasks (account, idempotency_key)',
    'create unique index tasks_by_export_id on tasks (export_id)',
    'create index tasks_by_state_express_fair_time on tasks (state, express, fair_time)',
    'create index tasks_by_layer on tasks (layer)',
    // For lists: each begins with one field and has their order.
    'create index tasks_by_outcome on tasks (outcome, id)',
    'create index tasks_by_type on tasks (type, id)',
    'create index tasks_by_created_at on tasks (created_at, id)',
    // Counts read this index alone.
    'create index tasks_by_filter on tasks (state, outcome, type, layer, created_at)',
    `create table task_leases (
       ${belongsToTask},
       owner text,
       ${columns(bigint, 'piece', 'token', 'threads', 'beat', 'done_steps', 'crashes')}
     )`,
    'create unique index task_leases_by_task_id_piece on task_leases (task_id, piece)',
    'create unique index task_leases_by_token on task_leases (token)',
    `create table task_failures (
       ${belongsToTask},
       id ${risingId},
       reason text not null,
       ${columns(bigint, 'z', 'min_x', 'min_y', 'max_x', 'max_y', 'tiles', 'attempts', 'at')},
       retry_at ${bigint},
       token ${bigint}
     )`,
    'create index task_failures_by_task_id_retry_at on task_failures (task_id, retry_at)',
    'create index task_failures_by_token on task_failures (token)',

    `create table users (
       name text primary key,
       ${columns('text', 'password', 'role', 'layers')},
       areas text,
       ${columns(bigint, 'password_initial', 'created_at', 'changed_at')}
     )`,
    `create table tokens (
       id ${risingId},
       ${columns('text', 'name', 'hash', 'role', 'layers', 'created_by')},
       account text,
       created_at ${bigint} not null,
       expires_at ${bigint},
       last_used_at ${bigint}
     )`,
    'create unique index tokens_by_hash on tokens (hash)',
    `create table sessions (
       hash text primary key,
       user_name text not null references users (name) on delete cascade,
       ${columns(bigint, 'created_at', 'seen_at')}
     )`,
    'create index sessions_by_user_name on sessions (user_name)',
    `create table oidc_sessions (
       hash text primary key,
       account text not null,
       ${columns(bigint, 'created_at', 'seen_at')}
     )`,
    `create table external_accounts (
       id ${risingId},
       account text not null unique,
       issuer text,
       ${columns('text', 'subject', 'name', 'claims')},
       claims_at ${bigint} not null
     )`,
    `create table reader_keys (
       id ${risingId},
       ${columns('text', 'name', 'hash', 'layers', 'created_by')},
       areas text,
       origins text,
       rate_per_second ${bigint},
       requests_per_day ${bigint},
       expires_at ${bigint},
       last_used_at ${bigint},
       ${columns(bigint, 'created_at', 'used_day', 'used')}
     )`,
    'create unique index reader_keys_by_hash on reader_keys (hash)',

    `create table quota_configuration (id ${bigint} primary key, document text not null)`,
    `create table usage_history (at ${bigint} primary key, ${columns(bigint, 'bytes', 'tiles')})`,
    `create table evictions (
       layer text not null,
       ${columns(bigint, 'at', 'pages', 'tiles', 'bytes')},
       constraint evictions_key primary key (layer, at)
     )`,
    'create index evictions_by_time on evictions (at)',

    `create table schedules (
       id ${risingId},
       ${columns('text', 'layer', 'name', 'origin', 'document', 'created_by')},
       created_at ${bigint} not null,
       next_due ${bigint}
     )`,
    'create unique index schedules_by_layer_and_name on schedules (layer, name)',
    'create index schedules_by_next_due on schedules (next_due)',
    `create table schedule_runs (
       ${columns(bigint, 'schedule_id', 'due_at', 'at')},
       state text not null,
       task_id ${bigint},
       detail text,
       constraint schedule_runs_pk primary key (schedule_id, due_at)
     )`,
    'create index schedule_runs_by_state on schedule_runs (state, schedule_id)',

    `create table parameter_values (id text primary key, document text not null, noted_at ${bigint} not null)`,
    `create table parameter_sets (
       ${columns('text', 'layer', 'id')},
       noted_at ${bigint} not null,
       primary key (layer, id)
     )`,
    `create table catalog_entries (
       ${columns('text', 'kind', 'name')},
       document text,
       version ${bigint} not null,
       drops text,
       changed_by text not null,
       changed_at ${bigint} not null,
       constraint catalog_entries_by_name primary key (kind, name)
     )`,
    'create unique index catalog_entries_by_version on catalog_entries (version)',

    `create table nodes (
       instance text primary key,
       address text,
       ${columns('text', 'name', 'roles', 'version')},
       ${columns(bigint, 'started_at', 'seen_at', 'leader', 'applied_at', 'applied')}
     )`,
    `create table node_shares (
       ${columns('text', 'name', 'instance')},
       ${columns(bigint, 'wanted', 'urgent', 'places', 'expires_at')}
     )`,
    'create unique index node_shares_key on node_shares (name, instance)',
    `create table node_flights (
       metatile text primary key,
       instance text not null,
       expires_at ${bigint} not null
     )`,
    `create table host_outages (
       host text primary key,
       ${columns('text', 'instance', 'outage')},
       until ${bigint} not null
     )`,
    `create table host_pauses (
       host text primary key,
       paused_by text not null,
       paused_at ${bigint} not null
     )`,
    `create table audit_entries (
       id ${risingId},
       ${columns(bigint, 'at', 'administrative')},
       ${columns('text', 'line', 'account')}
     )`,
    'create index audit_entries_by_account on audit_entries (administrative, account, id)',
    'create index audit_entries_by_kind on audit_entries (administrative, id)',
    `create table budgets (
       ${columns('text', 'scope', 'name')},
       ${columns(real, 'used', 'at', 'paused_until', 'ends_at')},
       pauses ${bigint} not null,
       constraint budgets_pk primary key (scope, name)
     )`,
    'create index budgets_by_end on budgets (ends_at)',

    `create table change_feeds (
       name text primary key,
       state text not null,
       last_at ${bigint},
       last_error text,
       newest ${bigint},
       ${columns(bigint, 'received', 'applied', 'pending')}
     )`,
    `create table changes (
       id ${risingId},
       ${columns('text', 'feed', 'layers')},
       ${columns(bigint, 'at', 'merged')},
       ${texts('event_id', 'boxes')}
     )`,
    'create unique index changes_by_event on changes (feed, event_id)',
    'create index changes_by_time on changes (at)',
    `create table change_entries (
       ${columns('text', 'feed', 'id')},
       ${columns(bigint, 'at', 'seen_at')},
       primary key (feed, id)
     )`,
    `create table followed_layers (
       ${columns('text', 'follow', 'layer', 'state', 'digest', 'document')},
       drawing text,
       primary key (follow, layer)
     )`,
    'create index followed_layers_by_layer on followed_layers (layer)',
    `create table follow_marks (
       follow text primary key,
       sequence text,
       ${columns(bigint, 'last_at', 'whole_at', 'pending')}
     )`,
    `create table follow_passes (
       id ${risingId},
       ${columns('text', 'follow', 'report')},
       at ${bigint} not null
     )`,
    'create index follow_passes_by_follow on follow_passes (follow, id)',
    `create table deliveries (
       number ${risingId},
       id text not null unique,
       ${columns('text', 'kind', 'name', 'state', 'payload')},
       ${columns('integer', 'revision', 'attempts')},
       last_error text,
       ${columns(bigint, 'at', 'next_at', 'until')}
     )`,
    'create index deliveries_by_due on deliveries (state, kind, name, next_at)',
    `create table reported_states (subject text primary key, at ${bigint} not null)`,
  ];
}
