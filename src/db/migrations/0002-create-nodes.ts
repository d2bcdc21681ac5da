import type { Migration } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Dialect, Statements } from '../database.ts';

export function createNodes(dialect: Dialect): Migration {
  const { bigint } = columnsOf(dialect);
  return {
    async up(query: Statements) {
      let table = query.schema
        .createTable('nodes')
        .addColumn('instance', 'text', (column) => column.primaryKey())
        .addColumn('address', 'text');
      for (const name of ['name', 'roles', 'version']) {
        table = table.addColumn(name, 'text', (column) => column.notNull());
      }
      for (const name of ['started_at', 'seen_at', 'leader']) {
        table = table.addColumn(name, bigint, (column) => column.notNull());
      }
      await table.execute();
    },
  };
}
