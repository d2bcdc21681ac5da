import { EventEmitter } from 'node:events';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { Semaphore } from '../../lib/semaphore.ts';
import type { Database, DatabaseOptions } from '../database.ts';
import { DatabaseError } from '../database-error.ts';
import { exactNumber } from '../exact-number.ts';
import { migrate } from '../migrate.ts';
import type { Schema } from '../schema.ts';
import { openNotifications } from './notifications.ts';

/** Connections for reading, and for transactions: those that wait for a lock keep nobody from reading. */
const READERS = 4;
const WRITERS = 4;
/** Milliseconds. */
const CONNECT_TIMEOUT = 5000;
const STATEMENT_TIMEOUT = 30_000;
const LOCK_TIMEOUT = 15_000;
/** A process that hangs inside a transaction loses it, and with it the lock. */
const IDLE_TIMEOUT = 30_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** serialization_failure and deadlock_detected: the server asks for another try. */
const TRY_AGAIN = ['40001', '40P01'];
const ATTEMPTS = 5;
const INT8 = pg.types.builtins.INT8;

export async function openPostgres(options: DatabaseOptions): Promise<Database> {
  const pool = openPool(options, READERS);
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  const writing = openPool(options, WRITERS);
  const writer = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: writing }) });
  const turns = new Map<string, Semaphore>();
  const bus = new EventEmitter().setMaxListeners(0);
  const notifications = openNotifications({ ...options, heard: (channel) => bus.emit(channel) });
  await greet(pool, notifications.close);

  const database: Database = {
    dialect: 'postgres',
    query,
    change: writer,
    async transaction(lock, work) {
      // One connection at a time waits for a lock, however many transactions of this process do.
      const turn = turns.get(lock) ?? new Semaphore(1);
      turns.set(lock, turn);
      const leave = await turn.acquire();
      try {
        return await tryAgain(() =>
          writer.transaction().execute(async (inside) => {
            await sql`select pg_advisory_xact_lock(hashtext(${`tilewarden:${lock}`}))`.execute(inside);
            return work(inside);
          }),
        );
      } catch (error) {
        throw hasCode(error, LOCK_NOT_AVAILABLE) ? busy(lock, error) : error;
      } finally {
        leave();
      }
    },
    async notify(channel) {
      await sql`select pg_notify('tilewarden', ${channel})`.execute(query);
    },
    listen(channel, listener) {
      bus.on(channel, listener);
      return () => bus.off(channel, listener);
    },
    async close() {
      bus.removeAllListeners();
      await notifications.close();
      await query.destroy();
      await writer.destroy();
    },
  };
  await migrate(writer, 'postgres', options).catch(async (error: unknown) => {
    await database.close();
    throw error;
  });
  return database;
}

function openPool({ location, log }: DatabaseOptions, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: location,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    statement_timeout: STATEMENT_TIMEOUT,
    lock_timeout: LOCK_TIMEOUT,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT,
    types: { getTypeParser: parserOf },
  });
  // Without a listener a connection that breaks while idle would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'));
  return pool;
}

/** Typed after node-postgres, whose own signature has an overload for each of its formats. */
const parserOf: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? (text: string) => exactNumber(BigInt(text)) : pg.types.getTypeParser(oid, format as 'text');

async function greet(pool: pg.Pool, close: () => Promise<void>): Promise<void> {
  try {
    await pool.query('select 1');
  } catch (cause) {
    await close();
    await pool.end();
    throw new DatabaseError('database-unreachable', 'The PostgreSQL database cannot be reached.', { cause });
  }
}

async function tryAgain<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= ATTEMPTS || !hasCode(error, ...TRY_AGAIN)) throw error;
    }
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function busy(lock: string, cause: unknown): DatabaseError {
  const seconds = LOCK_TIMEOUT / 1000;
  const message = `Another process has held the database lock ${lock} for ${seconds} s.`;
  return new DatabaseError('database-busy', message, { cause });
}
