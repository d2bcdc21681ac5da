import { EventEmitter } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import BetterSqlite3 from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { type Database, DatabaseError, type DatabaseOptions } from '../database.ts';
import { isBusy, migrate } from '../migrate.ts';
import { exactNumber } from '../numbers.ts';
import type { Schema } from '../schema.ts';

/** Milliseconds that opening may wait for another process that is opening too. */
const OPEN_WAIT = 5000;
const NOTIFICATION = 'notification';

export async function openSqlite(options: DatabaseOptions): Promise<Database> {
  const { location, clock, synced = true, feed = null, shared = false } = options;
  const log = synced ? openLogSync(location) : null;
  const sync = () => log?.sync() ?? Promise.resolve();
  const writer = statementsOver(connect(location, false), clock, sync);
  await migrate(writer, 'sqlite', options).catch(async (error: unknown) => {
    await writer.destroy();
    throw error;
  });
  // Also opens the log, while a relative path still leads there.
  await sync();
  const reader = statementsOver(connect(location, true), clock);
  const bus = new EventEmitter().setMaxListeners(0);
  feed?.on(NOTIFICATION, (channel) => void bus.emit(String(channel)));

  return {
    dialect: 'sqlite',
    shared,
    query: reader,
    change: writer,
    async transaction(_lock, work) {
      const result = await writer.transaction().execute(work);
      // Outside it: the next one need not wait for the disk.
      await sync();
      return result;
    },
    now: async () => clock.now(),
    async notify(channel) {
      bus.emit(channel);
      feed?.post(NOTIFICATION, channel);
    },
    listen(channel, listener) {
      bus.on(channel, listener);
      return () => bus.off(channel, listener);
    },
    async close() {
      bus.removeAllListeners();
      await reader.destroy();
      await writer.destroy();
      await log?.close();
    },
  };
}

/**
 * Makes commits durable as `synchronous = full` does, but on another thread: it syncs the log that they were written to
 * before they are acknowledged. Those that are made while one sync is under way share the next.
 */
function openLogSync(location: string) {
  let file: Promise<FileHandle> | null = null;
  let next: Promise<void> | null = null;
  let running: Promise<void> = Promise.resolve();
  const datasync = async () => {
    // SQLite keeps this one file for as long as the database is open.
    file ??= open(`${location}-wal`, 'r');
    await (await file).datasync();
  };
  return {
    sync(): Promise<void> {
      next ??= running
        .catch(() => {})
        .then(() => {
          next = null;
          running = datasync();
          return running;
        });
      return next;
    },
    async close(): Promise<void> {
      await running.catch(() => {});
      await (await file)?.close();
    },
  };
}

/** SQLite undoes changes of tables with the rest of a transaction; Kysely's adapter denies that. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function connect(path: string, readonly: boolean): BetterSqlite3.Database {
  const database = new BetterSqlite3(path, { readonly, timeout: OPEN_WAIT });
  if (!readonly) {
    database.pragma('journal_mode = wal');
    // A commit does not wait for the disk, which would stop this thread; see `openLogSync`.
    database.pragma('synchronous = normal');
    database.pragma('foreign_keys = on');
  }
  database.pragma('busy_timeout = 0');
  return database;
}

function statementsOver(
  database: BetterSqlite3.Database,
  clock: Clock,
  sync: () => Promise<void> = async () => {},
): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new TransactionalAdapter(),
      createDriver: () => createDriver(database, clock, sync),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/** Milliseconds that a transaction waits for one of another process, and between attempts. */
const MAX_WAIT = 10_000;
const POLL_INTERVAL = 5;

/**
 * One connection, used by one holder at a time. Statements are prepared once. A transaction takes the write lock
 * at its start and waits for it without blocking the thread, so a stopped writer elsewhere cannot stall a server.
 */
function createDriver(file: BetterSqlite3.Database, clock: Clock, sync: () => Promise<void>): Driver {
  const database = file.defaultSafeIntegers(true);
  const turns = new Semaphore(1);
  let release = () => {};
  let committed = false;

  /** Repeats `work` while another process writes. Within a transaction, which has the lock, nothing is busy. */
  async function patiently<Result>(work: () => Result): Promise<Result> {
    const deadline = clock.monotonic() + MAX_WAIT;
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      if (clock.monotonic() > deadline) {
        throw new DatabaseError('database-busy', 'Another process holds the database for too long.');
      }
      await clock.sleep(POLL_INTERVAL);
    }
  }

  const connection = createConnection(database, patiently, sync);
  return {
    async init() {},
    async acquireConnection() {
      release = await turns.acquire();
      return connection;
    },
    /** Other connections have a turn before the next transaction here, which would follow immediately. */
    async releaseConnection() {
      if (committed) setImmediate(release);
      else release();
      committed = false;
    },
    async beginTransaction() {
      await patiently(() => database.exec('begin immediate'));
    },
    async commitTransaction() {
      await connection.executeQuery(CompiledQuery.raw('commit'));
      committed = true;
    },
    async rollbackTransaction() {
      if (database.inTransaction) await connection.executeQuery(CompiledQuery.raw('rollback'));
    },
    async destroy() {
      database.close();
    },
  };
}

function createConnection(
  database: BetterSqlite3.Database,
  patiently: <Result>(work: () => Result) => Promise<Result>,
  sync: () => Promise<void>,
): DatabaseConnection {
  const prepared = new Map<string, BetterSqlite3.Statement<unknown[]>>();

  const statementOf = (text: string) => {
    const known = prepared.get(text);
    if (known) return known;
    const statement = database.prepare<unknown[]>(text);
    // Statement texts are few and fixed; a bound all the same, so that a mistake cannot fill the memory.
    if (prepared.size >= 500) prepared.clear();
    prepared.set(text, statement);
    return statement;
  };

  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const statement = statementOf(sql);
      if (statement.reader) {
        const rows = (await patiently(() => statement.all(...parameters))) as Record<string, unknown>[];
        for (const row of rows) shrinkIntegers(row);
        if (!statement.readonly && !database.inTransaction) await sync();
        return { rows: rows as Row[] };
      }
      const { changes, lastInsertRowid } = await patiently(() => statement.run(...parameters));
      if (changes > 0 && !database.inTransaction) await sync();
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    },
    // biome-ignore lint/correctness/useYield: a driver without streaming says so when it is asked
    async *streamQuery() {
      throw new Error('This driver does not stream.');
    },
  };
}

function shrinkIntegers(row: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint') row[name] = exactNumber(value);
  }
}
