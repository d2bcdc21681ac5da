import type { Migration } from '../migration.ts';

export const createCatalogEntries: Migration = {
  number: 9,
  name: 'create the table of layers and grid sets declared over the network',
  async up(query, { bigint }) {
    await query.insertInto('counters').values({ name: 'catalog', value: 0 }).execute();
    await query.schema
      .createTable('catalog_entries')
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('document', 'text')
      .addColumn('aside', 'text')
      .addColumn('version', bigint, (column) => column.notNull())
      .addColumn('drops', 'text')
      .addColumn('changed_by', 'text', (column) => column.notNull())
      .addColumn('changed_at', bigint, (column) => column.notNull())
      .addPrimaryKeyConstraint('catalog_entries_by_name', ['kind', 'name'])
      .execute();
    await query.schema
      .createIndex('catalog_entries_by_version')
      .unique()
      .on('catalog_entries')
      .column('version')
      .execute();
  },
};
