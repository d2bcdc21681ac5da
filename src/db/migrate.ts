import { type Migration, type MigrationProvider, Migrator } from 'kysely';
import { errorCode } from '../lib/error-code.ts';
import { DatabaseError, type DatabaseOptions, type Dialect, type Statements } from './database.ts';
import { createTables } from './migrations/0001-create-tables.ts';
import { createPacks } from './migrations/0002-create-packs.ts';
import { shareChanges } from './migrations/0003-share-news.ts';
import { shareExports } from './migrations/0004-share-exports.ts';
import { countParameterSets } from './migrations/0005-count-parameter-sets.ts';
import { separateTaskKeys } from './migrations/0006-separate-task-keys.ts';
import { addTaskOutcomes } from './migrations/0007-task-outcomes.ts';
import { turnExportsIntoTasks } from './migrations/0008-exports-as-tasks.ts';
import { giveOutTickets } from './migrations/0009-give-out-tickets.ts';
import { feedChanges } from './migrations/0010-feed-changes.ts';
import { createDeliveries } from './migrations/0011-create-deliveries.ts';
import { createReaderKeys } from './migrations/0012-reader-keys.ts';
import { createOidcSessions } from './migrations/0013-oidc-sessions.ts';
import { addOpenMarks } from './migrations/0014-open-marks.ts';
import { numberNodeChanges } from './migrations/0015-number-node-changes.ts';

/** Milliseconds that a start waits for another process that is migrating. */
const LOCK_TIMEOUT_MS = 30_000;
const PAUSE = 20;

export function migrationsFor(dialect: Dialect): Readonly<Record<string, Migration>> {
  return {
    '0001-create-tables': createTables(dialect),
    '0002-create-packs': createPacks(dialect),
    '0003-share-news': shareChanges(dialect),
    '0004-share-exports': shareExports(dialect),
    '0005-count-parameter-sets': countParameterSets(dialect),
    '0006-separate-task-keys': separateTaskKeys(),
    '0007-task-outcomes': addTaskOutcomes(),
    '0008-exports-as-tasks': turnExportsIntoTasks(),
    '0009-give-out-tickets': giveOutTickets(dialect),
    '0010-feed-changes': feedChanges(dialect),
    '0011-create-deliveries': createDeliveries(dialect),
    '0012-reader-keys': createReaderKeys(dialect),
    '0013-oidc-sessions': createOidcSessions(dialect),
    '0014-open-marks': addOpenMarks(dialect),
    '0015-number-node-changes': numberNodeChanges(),
  };
}

/** All that is missing in one transaction, under a lock: a crash leaves all of it or nothing. */
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
    // The library's word for a migration that was carried out and that this version does not have.
    if (error instanceof Error && error.message.startsWith('corrupted migrations')) throw ahead(error);
    if (!isBusy(error) || clock.monotonic() > deadline) throw error;
    await clock.sleep(PAUSE);
  }
}

/** The library's own asks for a language's order, and loading that takes a tenth of what a start costs. */
function nameComparator(one: string, other: string): number {
  return Number(one > other) - Number(one < other);
}

function ahead(cause: unknown): DatabaseError {
  const message =
    'The database has been changed by a later version. Start that version, or restore a backup made before it.';
  return new DatabaseError('database-ahead', message, { cause });
}

/** SQLite: another process is writing. */
export function isBusy(error: unknown): boolean {
  return errorCode(error)?.startsWith('SQLITE_BUSY') ?? false;
}
