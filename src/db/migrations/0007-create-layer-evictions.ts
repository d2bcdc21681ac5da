import type { Migration } from '../migration.ts';

export const createLayerEvictions: Migration = {
  number: 7,
  name: 'create the table of evictions by layer',
  async up(query, { bigint }) {
    let table = query.schema
      .createTable('layer_evictions')
      .addColumn('layer', 'text', (column) => column.notNull());
    for (const name of ['at', 'pages', 'tiles', 'bytes']) {
      table = table.addColumn(name, bigint, (column) => column.notNull());
    }
    await table.addPrimaryKeyConstraint('layer_evictions_key', ['layer', 'at']).execute();
  },
};
