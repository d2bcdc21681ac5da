import { type Migration, type MigrationProvider, Migrator, sql } from 'kysely';
import { errorCode, hasCode } from '../lib/error-code.ts';
import { DatabaseError, type DatabaseOptions, type Dialect, type Statements } from './database.ts';
import { createIndex } from './migrations/create-index.ts';
import { createTables } from './migrations/create-tables.ts';

/** Milliseconds that a start waits for another process that is migrating. */
const LOCK_TIMEOUT_MS = 30_000;
const PAUSE = 20;
/** A database whose first migration has a lower name is of a version before 0.3. */
const FIRST_STEP = '0022-tables-of-0.3';

/** In the order in which they are carried out. Once released, none is ever changed. */
export function migrationsFor(dialect: Dialect): Readonly<Record<string, Migration>> {
  const tables = [...createTables(dialect), ...(dialect === 'postgres' ? createIndex(dialect) : [])];
  return {
    [FIRST_STEP]: {
      async up(query: Statements) {
        for (const text of tables) await sql.raw(text).execute(query);
      },
    },
  };
}

/** Applies missing migrations in one transaction, under a lock: a crash leaves all of them or none. */
export async function migrate(
  db: Statements,
  dialect: Dialect,
  { clock, log, migrations = migrationsFor(dialect) }: Omit<DatabaseOptions, 'location'>,
): Promise<void> {
  if (migrations === null) return;
  const provider: MigrationProvider = { getMigrations: async () => migrations };
  const migrator = new Migrator({ db, provider, nameComparator });
  const deadline = clock.monotonic() + LOCK_TIMEOUT_MS;
  for (;;) {
    const { error, results = [] } = await migrator.migrateToLatest();
    for (const { migrationName, status } of results) {
      if (status === 'Success') log.info({ migration: migrationName }, 'database migrated');
    }
    if (error === undefined) return;
    // The library's error for a migration in the database that this version does not have.
    if (error instanceof Error && error.message.startsWith('corrupted migrations'))
      throw ofAnotherVersion(await executedFirst(db));
    if (!(isBusy(error) || isOvertaken(error)) || clock.monotonic() > deadline) throw error;
    await clock.sleep(PAUSE);
  }
}

/** The library's own comparator loads the sort order of a language, which takes a tenth of the time of a start. */
function nameComparator(one: string, other: string): number {
  return Number(one > other) - Number(one < other);
}

async function executedFirst(db: Statements): Promise<string> {
  const { rows } = await sql<{ name: string }>`select min(name) as name from kysely_migration`.execute(db);
  return rows[0]?.name ?? '';
}

function ofAnotherVersion(first: string): DatabaseError {
  if (first < FIRST_STEP) {
    const message =
      'The database is of a version before 0.3.0, which this version cannot take over. Start that version, or give this one another --data folder or --database.';
    return new DatabaseError('database-behind', message);
  }
  const message =
    'The database has been changed by a later version. Start that version, or restore a backup made before it.';
  return new DatabaseError('database-ahead', message);
}

/** PostgreSQL: another node has dropped a table, or renamed a column, while the library listed all before its lock. */
function isOvertaken(error: unknown): boolean {
  return hasCode(error, '42P01', '42703');
}

/** SQLite: another process is writing. */
export function isBusy(error: unknown): boolean {
  return errorCode(error)?.startsWith('SQLITE_BUSY') ?? false;
}
