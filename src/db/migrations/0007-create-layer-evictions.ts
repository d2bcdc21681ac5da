import type { Migration } from '../migration.ts';

export const createLayerEvictions: Migration = {
  number: 7,
  name: 'create the table of evictions by layer',
  async up(query, { bigint }) {
    await query.schema
      .createTable('layer_evictions')
      .addColumn('layer', 'text', (column) => column.notNull())
      .addColumn('at', bigint, (column) => column.notNull())
      .addColumn('pages', bigint, (column) => column.notNull())
      .addColumn('tiles', bigint, (column) => column.notNull())
      .addColumn('bytes', bigint, (column) => column.notNull())
      .addPrimaryKeyConstraint('layer_evictions_key', ['layer', 'at'])
      .execute();
  },
};
