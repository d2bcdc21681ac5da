import type { Migration } from '../migration.ts';
import { createTaskTables } from './0001-create-task-tables.ts';
import { createAccountTables } from './0002-create-account-tables.ts';
import { createQuotaTables } from './0003-create-quota-tables.ts';
import { createEvictionTables } from './0004-create-eviction-tables.ts';
import { createScheduleTables } from './0005-create-schedule-tables.ts';
import { createParameterTable } from './0006-create-parameter-table.ts';
import { createLayerEvictions } from './0007-create-layer-evictions.ts';
import { createBlankAreaTable } from './0008-create-blank-area-table.ts';
import { createCatalogEntries } from './0009-create-catalog-entries.ts';

export const MIGRATIONS: readonly Migration[] = [
  createTaskTables,
  createAccountTables,
  createQuotaTables,
  createEvictionTables,
  createScheduleTables,
  createParameterTable,
  createLayerEvictions,
  createBlankAreaTable,
  createCatalogEntries,
];
