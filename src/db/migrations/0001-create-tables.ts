import type { Migration } from 'kysely';
import { type Columns, columnsOf } from '../columns.ts';
import type { Dialect, Statements } from '../database.ts';

/** Every table, as of version 0.2. Once released it is never changed: a later step is a file of its own. */
export function createTables(dialect: Dialect): Migration {
  return {
    async up(query: Statements) {
      const columns = columnsOf(dialect);
      await createCounters(query, columns);
      await createTasks(query, columns);
      await createLeases(query, columns);
      await createFailures(query, columns);
      await createUsers(query, columns);
      await createTokens(query, columns);
      await createSessions(query, columns);
      await createConfiguration(query, columns);
      await createUses(query, columns);
      await createHistory(query, columns);
      await createCredit(query, columns);
      await createEvictions(query, columns);
      await createSchedules(query, columns);
      await createRuns(query, columns);
      await createParameterValues(query, columns);
      await createLayerEvictions(query, columns);
      await createBlankAreas(query, columns);
      await createCatalogEntries(query, columns);
    },
  };
}

async function createCounters(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('counters')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', bigint, (column) => column.notNull())
    .execute();
  await query
    .insertInto('counters')
    .values([
      { name: 'task-events', value: 0 },
      { name: 'lease-tokens', value: 0 },
      { name: 'catalog', value: 0 },
    ])
    .execute();
}

async function createTasks(query: Statements, { risingId, bigint, real }: Columns): Promise<void> {
  let table = query.schema.createTable('tasks').addColumn('id', risingId);
  for (const name of ['state', 'layer', 'type', 'request', 'plan', 'error_samples', 'created_by']) {
    table = table.addColumn(name, 'text', (column) => column.notNull());
  }
  for (const name of ['reason', 'idempotency_key']) table = table.addColumn(name, 'text');
  for (const name of ['weight', 'fair_time']) {
    table = table.addColumn(name, real, (column) => column.notNull());
  }
  for (const name of COUNTS) table = table.addColumn(name, bigint, (column) => column.notNull());
  for (const name of ['started_at', 'ended_at']) table = table.addColumn(name, bigint);
  await table.execute();
  await index(query, 'tasks', ['event_id'], true);
  await index(query, 'tasks', ['idempotency_key'], true);
  await index(query, 'tasks', ['state', 'express', 'fair_time']);
  await index(query, 'tasks', ['layer']);
}

const COUNTS = [
  'event_id',
  'thread_count',
  'express',
  'piece_count',
  'next_piece',
  'tiles_total',
  'tiles_processed',
  'made',
  'present',
  'removed',
  'blank',
  'failed',
  'bytes',
  'upstream_requests',
  'failures',
  'created_at',
];

async function createLeases(query: Statements, columns: Columns): Promise<void> {
  let table = belongingToTask(query, 'task_leases', columns).addColumn('owner', 'text');
  for (const name of ['piece', 'token', 'threads', 'beat', 'done_steps', 'crashes']) {
    table = table.addColumn(name, columns.bigint, (column) => column.notNull());
  }
  await table.execute();
  await index(query, 'task_leases', ['task_id', 'piece'], true);
  await index(query, 'task_leases', ['token'], true);
}

async function createFailures(query: Statements, columns: Columns): Promise<void> {
  let table = belongingToTask(query, 'task_failures', columns)
    .addColumn('id', columns.risingId)
    .addColumn('reason', 'text', (column) => column.notNull());
  for (const name of ['z', 'min_x', 'min_y', 'max_x', 'max_y', 'tiles', 'attempts', 'at']) {
    table = table.addColumn(name, columns.bigint, (column) => column.notNull());
  }
  for (const name of ['retry_at', 'token']) table = table.addColumn(name, columns.bigint);
  await table.execute();
  await index(query, 'task_failures', ['task_id', 'retry_at']);
  await index(query, 'task_failures', ['token']);
}

function belongingToTask(query: Statements, table: string, { bigint }: Columns) {
  return query.schema
    .createTable(table)
    .addColumn('task_id', bigint, (column) => column.notNull().references('tasks.id').onDelete('cascade'));
}

async function index(query: Statements, table: string, columns: string[], unique = false): Promise<void> {
  const made = query.schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns(columns);
  await (unique ? made.unique() : made).execute();
}

async function createUsers(query: Statements, { bigint }: Columns): Promise<void> {
  let table = query.schema.createTable('users').addColumn('name', 'text', (column) => column.primaryKey());
  for (const name of ['password', 'role', 'layers']) {
    table = table.addColumn(name, 'text', (column) => column.notNull());
  }
  for (const name of ['password_initial', 'created_at', 'changed_at']) {
    table = table.addColumn(name, bigint, (column) => column.notNull());
  }
  await table.execute();
}

async function createTokens(query: Statements, { risingId, bigint }: Columns): Promise<void> {
  let table = query.schema.createTable('tokens').addColumn('id', risingId);
  for (const name of ['name', 'hash', 'role', 'layers', 'created_by']) {
    table = table.addColumn(name, 'text', (column) => column.notNull());
  }
  await table
    .addColumn('created_at', bigint, (column) => column.notNull())
    .addColumn('expires_at', bigint)
    .addColumn('last_used_at', bigint)
    .execute();
  await query.schema.createIndex('tokens_by_hash').on('tokens').columns(['hash']).unique().execute();
}

async function createSessions(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('sessions')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('user_name', 'text', (column) => column.notNull().references('users.name').onDelete('cascade'))
    .addColumn('created_at', bigint, (column) => column.notNull())
    .addColumn('seen_at', bigint, (column) => column.notNull())
    .execute();
  await query.schema.createIndex('sessions_by_user_name').on('sessions').columns(['user_name']).execute();
}

async function createConfiguration(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('quota_configuration')
    .addColumn('id', bigint, (column) => column.primaryKey())
    .addColumn('document', 'text', (column) => column.notNull())
    .execute();
}

async function createUses(query: Statements, { bigint, real }: Columns): Promise<void> {
  let table = query.schema
    .createTable('page_uses')
    .addColumn('tile_set', 'text', (column) => column.notNull());
  for (const name of ['z', 'page_x', 'page_y', 'hits', 'last_used_at']) {
    table = table.addColumn(name, bigint, (column) => column.notNull());
  }
  await table.addColumn('frequency', real, (column) => column.notNull()).execute();
  await unique(query, 'page_uses', ['tile_set', 'z', 'page_x', 'page_y']);
}

async function createHistory(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('usage_history')
    .addColumn('at', bigint, (column) => column.primaryKey())
    .addColumn('bytes', bigint, (column) => column.notNull())
    .addColumn('tiles', bigint, (column) => column.notNull())
    .execute();
}

async function unique(query: Statements, table: string, columns: string[]): Promise<void> {
  await query.schema.createIndex(`${table}_key`).on(table).columns(columns).unique().execute();
}

async function createCredit(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('quota_credit')
    .addColumn('scope', 'text', (column) => column.primaryKey())
    .addColumn('taken', bigint, (column) => column.notNull())
    .addColumn('allowed', bigint, (column) => column.notNull())
    .addColumn('reserve', bigint, (column) => column.notNull())
    .execute();
}

async function createEvictions(query: Statements, { bigint }: Columns): Promise<void> {
  let table = query.schema.createTable('evictions').addColumn('at', bigint, (column) => column.primaryKey());
  for (const name of ['pages', 'tiles', 'bytes']) {
    table = table.addColumn(name, bigint, (column) => column.notNull());
  }
  await table.execute();
}

async function createSchedules(query: Statements, { risingId, bigint }: Columns): Promise<void> {
  let table = query.schema.createTable('schedules').addColumn('id', risingId);
  for (const name of ['layer', 'name', 'origin', 'document', 'created_by']) {
    table = table.addColumn(name, 'text', (column) => column.notNull());
  }
  await table
    .addColumn('created_at', bigint, (column) => column.notNull())
    .addColumn('next_due', bigint)
    .execute();
  await query.schema
    .createIndex('schedules_by_layer_and_name')
    .on('schedules')
    .columns(['layer', 'name'])
    .unique()
    .execute();
  await query.schema.createIndex('schedules_by_next_due').on('schedules').column('next_due').execute();
}

async function createRuns(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('schedule_runs')
    .addColumn('schedule_id', bigint, (column) => column.notNull())
    .addColumn('due_at', bigint, (column) => column.notNull())
    .addColumn('at', bigint, (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('task_id', bigint)
    .addColumn('detail', 'text')
    .addPrimaryKeyConstraint('schedule_runs_pk', ['schedule_id', 'due_at'])
    .execute();
  await query.schema
    .createIndex('schedule_runs_by_state')
    .on('schedule_runs')
    .columns(['state', 'schedule_id'])
    .execute();
}

async function createParameterValues(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('parameter_values')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('noted_at', bigint, (column) => column.notNull())
    .execute();
}

async function createLayerEvictions(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('layer_evictions')
    .addColumn('layer', 'text', (column) => column.notNull())
    .addColumn('at', bigint, (column) => column.notNull())
    .addColumn('pages', bigint, (column) => column.notNull())
    .addColumn('tiles', bigint, (column) => column.notNull())
    .addColumn('bytes', bigint, (column) => column.notNull())
    .addPrimaryKeyConstraint('layer_evictions_key', ['layer', 'at'])
    .execute();
}

async function createBlankAreas(query: Statements, { bigint, risingId }: Columns): Promise<void> {
  await query.schema
    .createTable('blank_areas')
    .addColumn('id', risingId)
    .addColumn('layer', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('note', 'text', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint, (column) => column.notNull())
    .execute();
  await query.schema.createIndex('blank_areas_by_layer').on('blank_areas').column('layer').execute();
}

async function createCatalogEntries(query: Statements, { bigint }: Columns): Promise<void> {
  await query.schema
    .createTable('catalog_entries')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('document', 'text')
    .addColumn('aside', 'text')
    .addColumn('version', bigint, (column) => column.notNull())
    .addColumn('drops', 'text')
    .addColumn('changed_by', 'text', (column) => column.notNull())
    .addColumn('changed_at', bigint, (column) => column.notNull())
    .addPrimaryKeyConstraint('catalog_entries_by_name', ['kind', 'name'])
    .execute();
  await index(query, 'catalog_entries', ['version'], true);
}
