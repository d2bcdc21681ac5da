import type { Migration } from '../migration.ts';

export const createParameterTable: Migration = {
  number: 6,
  name: 'create the table of parameter values',
  async up(query, { bigint }) {
    await query.schema
      .createTable('parameter_values')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('document', 'text', (column) => column.notNull())
      .addColumn('noted_at', bigint, (column) => column.notNull())
      .execute();
  },
};
