import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { columnsOf } from './columns.ts';
import type { Database, Statements } from './database.ts';
import { DatabaseError } from './database-error.ts';
import type { Migration } from './migration.ts';

interface MigrateOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Each migration is applied in one transaction with its number, so a crash leaves all of it or nothing. */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<void> {
  await createMigrationsTable(database);
  for (const migration of migrations) {
    const applied = await database.transaction('migrations', (query) =>
      applyOnce(database, query, migration, migrations.length, options.clock.now()),
    );
    if (applied) options.log.info({ migration: migration.number }, `database: ${migration.name}`);
  }
}

async function createMigrationsTable(database: Database): Promise<void> {
  const { bigint } = columnsOf(database.dialect);
  await database.transaction('migrations', async (query) => {
    await query.schema
      .createTable('migrations')
      .ifNotExists()
      .addColumn('number', 'integer', (column) => column.primaryKey())
      .addColumn('applied_at', bigint, (column) => column.notNull())
      .execute();
  });
}

async function applyOnce(
  database: Database,
  query: Statements,
  migration: Migration,
  newest: number,
  now: number,
): Promise<boolean> {
  const row = await query
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('number').as('latest'))
    .executeTakeFirst();
  const latest = row?.latest ?? 0;
  if (latest > newest) {
    throw new DatabaseError(
      'database-ahead',
      `The database has been changed by a later version (step ${latest}; this version knows ${newest}). Start that version, or restore a backup made before it.`,
    );
  }
  if (migration.number <= latest) return false;
  // The number goes in first: of two processes that got here, one fails before it has touched a table.
  await query.insertInto('migrations').values({ number: migration.number, applied_at: now }).execute();
  await migration.up(query, columnsOf(database.dialect));
  return true;
}
