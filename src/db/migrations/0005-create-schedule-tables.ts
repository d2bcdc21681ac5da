import type { Columns } from '../columns.ts';
import type { Statements } from '../database.ts';
import type { Migration } from '../migration.ts';

export const createScheduleTables: Migration = {
  number: 5,
  name: 'create the schedule tables',
  async up(query, columns) {
    await createSchedules(query, columns);
    await createRuns(query, columns);
  },
};

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
