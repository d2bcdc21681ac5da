import { EventEmitter } from 'node:events';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Database, DatabaseOptions } from '../database.ts';
import { DatabaseError } from '../database-error.ts';
import { exactNumber } from '../exact-number.ts';
import type { Schema } from '../schema.ts';
import { openNotifications } from './notifications.ts';

const POOL_SIZE = 4;
/** Milliseconds. */
const CONNECT_TIMEOUT = 5000;
const STATEMENT_TIMEOUT = 30_000;
/** serialization_failure and deadlock_detected: the server asks for another try. */
const TRY_AGAIN = new Set(['40001', '40P01']);
const ATTEMPTS = 5;
const INT8 = pg.types.builtins.INT8;

export async function openPostgres(options: DatabaseOptions): Promise<Database> {
  const pool = openPool(options);
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  const bus = new EventEmitter().setMaxListeners(0);
  const notifications = openNotifications({ ...options, heard: (channel) => bus.emit(channel) });
  await greet(pool, notifications.close);

  return {
    dialect: 'postgres',
    query,
    transaction: (lock, work) =>
      tryAgain(() =>
        query.transaction().execute(async (inside) => {
          await sql`select pg_advisory_xact_lock(hashtext(${`tilewarden:${lock}`}))`.execute(inside);
          return work(inside);
        }),
      ),
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
    },
  };
}

function openPool({ location, log }: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: location,
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    statement_timeout: STATEMENT_TIMEOUT,
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
      if (attempt >= ATTEMPTS || !asksForAnotherTry(error)) throw error;
    }
  }
}

function asksForAnotherTry(error: unknown): boolean {
  return error instanceof Error && 'code' in error && TRY_AGAIN.has(String(error.code));
}
