import type { Database, DatabaseOptions } from './database.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';

const POSTGRES_ADDRESS = /^postgres(ql)?:\/\//;

/** Opens the database and brings its tables up to date. Refuses one that a later version has changed. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  if (!POSTGRES_ADDRESS.test(options.location)) return openSqlite(options);
  const { openPostgres } = await import('./postgres/open-postgres.ts');
  return openPostgres(options);
}
