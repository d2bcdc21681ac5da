import type { Migration } from '../migration.ts';
import { createTaskTables } from './0001-create-task-tables.ts';

export const MIGRATIONS: readonly Migration[] = [createTaskTables];
