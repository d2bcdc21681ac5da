import type { Migration } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Dialect, Statements } from '../database.ts';

/** What nodes divide among them, and what they must know of each other. */
export function shareAmongNodes(dialect: Dialect): Migration {
  const { bigint, risingId } = columnsOf(dialect);
  return {
    async up(query: Statements) {
      let shares = query.schema.createTable('node_shares');
      for (const name of ['name', 'instance'])
        shares = shares.addColumn(name, 'text', (column) => column.notNull());
      for (const name of ['wanted', 'places', 'expires_at']) {
        shares = shares.addColumn(name, bigint, (column) => column.notNull());
      }
      await shares.execute();
      await query.schema
        .createIndex('node_shares_key')
        .on('node_shares')
        .columns(['name', 'instance'])
        .unique()
        .execute();
      await query.schema
        .createTable('audit_entries')
        .addColumn('id', risingId)
        .addColumn('at', bigint, (column) => column.notNull())
        .addColumn('line', 'text', (column) => column.notNull())
        .execute();
      await query.schema
        .createTable('login_failures')
        .addColumn('id', risingId)
        .addColumn('at', bigint, (column) => column.notNull())
        .addColumn('instance', 'text', (column) => column.notNull())
        .addColumn('source', 'text', (column) => column.notNull())
        .addColumn('account', 'text', (column) => column.notNull())
        .execute();
      await query.schema
        .createTable('node_flights')
        .addColumn('metatile', 'text', (column) => column.primaryKey())
        .addColumn('instance', 'text', (column) => column.notNull())
        .addColumn('expires_at', bigint, (column) => column.notNull())
        .execute();
      await query.schema.createIndex('login_failures_by_at').on('login_failures').column('at').execute();
      await query.schema
        .createIndex('page_uses_by_last_use')
        .on('page_uses')
        .column('last_used_at')
        .execute();
    },
  };
}
