import type { Database, DatabaseOptions } from './database.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/migration-list.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

const POSTGRES_ADDRESS = /^postgres(ql)?:\/\//;

/** Opens the database and brings its tables up to date. Refuses one that a later version has changed. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = await openDialect(options);
  try {
    await migrate(database, MIGRATIONS, options);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

async function openDialect(options: DatabaseOptions): Promise<Database> {
  if (!POSTGRES_ADDRESS.test(options.location)) return openSqlite(options);
  const { openPostgres } = await import('./postgres/open-postgres.ts');
  return openPostgres(options);
}
