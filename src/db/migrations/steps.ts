import type { Migration } from 'kysely';
import type { Dialect } from '../database.ts';
import { createIndex } from './create-index.ts';
import { createTables } from './create-tables.ts';
import { statements } from './statements.ts';

/** In the order in which they are carried out. Once released, none is ever changed. */
export const STEPS: Readonly<Record<string, (dialect: Dialect) => Migration>> = {
  '0018-tables-of-0.3': statements((columns) => [
    ...createTables(columns),
    ...(columns.dialect === 'postgres' ? createIndex('postgres') : []),
  ]),
  /** Stores keep the uses of their pages, and writers read the usage themselves. */
  '0020-uses-in-stores': statements(() => ['drop table page_uses', 'drop table quota_credit']),
  '0021-names': statements(() => [
    'alter table host_news rename to host_outages',
    'alter table host_outages rename column news to outage',
    'alter table nodes rename column heard_at to applied_at',
  ]),
};
