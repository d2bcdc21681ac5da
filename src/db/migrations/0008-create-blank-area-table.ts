import type { Migration } from '../migration.ts';

export const createBlankAreaTable: Migration = {
  number: 8,
  name: 'create the table of areas where blank is right',
  async up(query, { bigint, risingId }) {
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
  },
};
