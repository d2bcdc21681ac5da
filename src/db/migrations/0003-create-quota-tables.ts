import type { Columns } from '../columns.ts';
import type { Statements } from '../database.ts';
import type { Migration } from '../migration.ts';

export const createQuotaTables: Migration = {
  number: 3,
  name: 'create the quota tables',
  async up(query, columns) {
    await createConfiguration(query, columns);
    await createUses(query, columns);
    await createHistory(query, columns);
  },
};

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
