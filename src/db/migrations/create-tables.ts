import type { Dialect } from '../database.ts';
import { type Schema, tables } from '../schema.ts';

/** Every table except those of the index of tiles. */
export function createTables(dialect: Dialect): readonly string[] {
  const isSqlite = dialect === 'sqlite';
  const created = Object.entries(tables).map(([table, columns]) => {
    const parts = Object.entries(columns).map(
      ([name, { sql }]) => `${name} ${isSqlite ? sqliteType(sql) : sql}`,
    );
    const key = PRIMARY_KEYS[table as keyof Schema] ?? [];
    return `create table ${table} (${[...parts, ...key].join(', ')})`;
  });
  return [
    ...created,
    "insert into counters (name, value) values ('catalog', 0)",
    // PostgreSQL numbers changes by transactions and leases by a sequence, so that writers share no row.
    isSqlite
      ? "insert into counters (name, value) values ('task-events', 0), ('lease-tokens', 0)"
      : 'create sequence lease_tokens',
    ...INDEXES,
  ];
}

function sqliteType(sql: string): string {
  return sql
    .replace('bigint generated always as identity primary key', 'integer primary key autoincrement')
    .replace('bigint', 'integer')
    .replace('double precision', 'real');
}

/** Those of several columns. */
const PRIMARY_KEYS: Partial<Record<keyof Schema, readonly [string]>> = {
  evictions: ['constraint evictions_key primary key (layer, at)'],
  schedule_runs: ['constraint schedule_runs_pk primary key (schedule_id, due_at)'],
  parameter_sets: ['primary key (layer, id)'],
  catalog_entries: ['constraint catalog_entries_by_name primary key (kind, name)'],
  budgets: ['constraint budgets_pk primary key (scope, name)'],
  change_entries: ['primary key (feed, id)'],
  followed_layers: ['primary key (follow, layer)'],
};

const INDEXES = [
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
  'create unique index task_leases_by_task_id_piece on task_leases (task_id, piece)',
  'create unique index task_leases_by_token on task_leases (token)',
  'create index task_failures_by_task_id_retry_at on task_failures (task_id, retry_at)',
  'create index task_failures_by_token on task_failures (token)',
  'create unique index tokens_by_hash on tokens (hash)',
  'create index sessions_by_user_name on sessions (user_name)',
  'create unique index reader_keys_by_hash on reader_keys (hash)',
  'create index evictions_by_time on evictions (at)',
  'create unique index schedules_by_layer_and_name on schedules (layer, name)',
  'create index schedules_by_next_due on schedules (next_due)',
  'create index schedule_runs_by_state on schedule_runs (state, schedule_id)',
  'create unique index catalog_entries_by_version on catalog_entries (version)',
  'create unique index node_shares_key on node_shares (name, instance)',
  'create index audit_entries_by_account on audit_entries (administrative, account, id)',
  'create index audit_entries_by_kind on audit_entries (administrative, id)',
  'create index budgets_by_end on budgets (ends_at)',
  'create unique index changes_by_event on changes (feed, event_id)',
  'create index changes_by_time on changes (at)',
  'create index followed_layers_by_layer on followed_layers (layer)',
  'create index follow_passes_by_follow on follow_passes (follow, id)',
  'create index deliveries_by_due on deliveries (state, kind, name, next_at)',
];
