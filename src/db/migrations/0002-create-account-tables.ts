import type { Columns } from '../columns.ts';
import type { Statements } from '../database.ts';
import type { Migration } from '../migration.ts';

export const createAccountTables: Migration = {
  number: 2,
  name: 'create the account tables',
  async up(query, columns) {
    await createUsers(query, columns);
    await createTokens(query, columns);
    await createSessions(query, columns);
  },
};

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
