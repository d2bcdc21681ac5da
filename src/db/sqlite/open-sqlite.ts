import { EventEmitter } from 'node:events';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { Database, DatabaseOptions } from '../database.ts';
import { migrate } from '../migrate.ts';
import type { Schema } from '../schema.ts';
import { SqliteDriver } from './sqlite-driver.ts';

/** Milliseconds that opening may wait for another process that is opening too. */
const OPEN_WAIT = 5000;

export async function openSqlite(options: DatabaseOptions): Promise<Database> {
  const { location, clock, synced = true } = options;
  const writer = statementsOver(connect(location, false, synced), clock);
  await migrate(writer, 'sqlite', options).catch(async (error: unknown) => {
    await writer.destroy();
    throw error;
  });
  const reader = statementsOver(connect(location, true, synced), clock);
  const bus = new EventEmitter().setMaxListeners(0);

  return {
    dialect: 'sqlite',
    query: reader,
    change: writer,
    transaction: (_lock, work) => writer.transaction().execute(work),
    now: async () => clock.now(),
    async notify(channel) {
      bus.emit(channel);
    },
    listen(channel, listener) {
      bus.on(channel, listener);
      return () => bus.off(channel, listener);
    },
    async close() {
      bus.removeAllListeners();
      await reader.destroy();
      await writer.destroy();
    },
  };
}

/** SQLite undoes changes of tables with the rest of a transaction; the library does not count on it. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function connect(path: string, readonly: boolean, synced: boolean): BetterSqlite3.Database {
  const database = new BetterSqlite3(path, { readonly, timeout: OPEN_WAIT });
  if (!readonly) {
    database.pragma('journal_mode = wal');
    // What is acknowledged is durable: every commit reaches the disk before it returns.
    database.pragma(`synchronous = ${synced ? 'full' : 'normal'}`);
    database.pragma('foreign_keys = on');
  }
  database.pragma('busy_timeout = 0');
  return database;
}

function statementsOver(database: BetterSqlite3.Database, clock: Clock): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new TransactionalAdapter(),
      createDriver: () => new SqliteDriver(database, clock),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}
