import type { Columns } from '../columns.ts';
import type { Statements } from '../database.ts';
import type { Migration } from '../migration.ts';

export const createTaskTables: Migration = {
  number: 1,
  name: 'create the task tables',
  async up(query, columns) {
    await createCounters(query, columns);
    await createTasks(query, columns);
    await createLeases(query, columns);
    await createFailures(query, columns);
  },
};

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
