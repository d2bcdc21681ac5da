import type { Columns } from '../columns.ts';
import type { Statements } from '../database.ts';
import type { Migration } from '../migration.ts';

export const createEvictionTables: Migration = {
  number: 4,
  name: 'create the tables of credit and evictions',
  async up(query, columns) {
    await createCredit(query, columns);
    await createEvictions(query, columns);
  },
};

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
