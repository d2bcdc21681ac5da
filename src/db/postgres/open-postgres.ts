import { EventEmitter } from 'node:events';
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely';
import pg from 'pg';
import type { Env } from '../../lib/env.ts';
import { errorCode, hasCode } from '../../lib/error-code.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { openRepeater } from '../../lib/repeat.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { type Database, DatabaseError, type DatabaseOptions } from '../database.ts';
import { migrate } from '../migrate.ts';
import { exactNumber } from '../numbers.ts';
import type { Schema } from '../schema.ts';

/** Connections for reading, and for transactions: those that wait for a lock block no reader. */
const READERS = 4;
const WRITERS = 4;
const LOCK_NOT_AVAILABLE = '55P03';
/** serialization_failure and deadlock_detected: the transaction is to be repeated. */
const TRY_AGAIN = ['40001', '40P01'];
const ATTEMPTS = 5;

export async function openPostgres(options: DatabaseOptions): Promise<Database> {
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPool(options, READERS) }) });
  const writer = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPool(options, WRITERS) }) });
  const turns = new Map<string, Semaphore>();
  const bus = new EventEmitter().setMaxListeners(0);
  const notifications = openNotifications({ ...options, onNotify: (channel) => bus.emit(channel) });
  await greet(query, notifications.close);

  const database: Database = {
    dialect: 'postgres',
    shared: true,
    query,
    change: writer,
    async transaction(lock, work) {
      if (lock === null)
        return tryAgain(() => writer.transaction().execute(work)).catch(refuseBusy('of a task'));
      // Only one connection waits for a lock, for all transactions of this process.
      const locked = () =>
        writer.transaction().execute(async (inside) => {
          await sql`select pg_advisory_xact_lock(hashtext(${`tilewarden:${lock}`}))`.execute(inside);
          return work(inside);
        });
      const turn = getOrCreate(turns, lock, () => new Semaphore(1));
      return turn.during(() => tryAgain(locked)).catch(refuseBusy(lock));
    },
    async now() {
      const time = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
      return (await time.execute(query)).rows[0]?.now ?? 0;
    },
    async notify(channel) {
      const sending = sql`select pg_notify('tilewarden', ${channel})`.execute(query);
      await sending.catch((err: unknown) =>
        options.log.debug({ err, channel }, 'a notification was not sent'),
      );
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

async function greet(query: Kysely<Schema>, close: () => Promise<void>): Promise<void> {
  try {
    await sql`select 1`.execute(query);
  } catch (cause) {
    await close();
    await query.destroy();
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

function refuseBusy(lock: string): (error: unknown) => never {
  return (error) => {
    if (!hasCode(error, LOCK_NOT_AVAILABLE)) throw error;
    const seconds = LOCK_TIMEOUT / 1000;
    const message = `Another process has held the database lock ${lock} for ${seconds} s.`;
    throw new DatabaseError('database-busy', message, { cause: error });
  };
}

interface NotificationOptions extends Env {
  readonly location: string;
  readonly onNotify: (channel: string) => void;
}

/** Milliseconds between attempts to listen again after the connection was lost. */
const RECONNECT_WAIT = 1000;

/** Keeps one connection that listens, and opens it again when it breaks. */
function openNotifications(options: NotificationOptions): { close(): Promise<void> } {
  const failure = 'listening to the database failed; trying again';
  return openRepeater((signal) => listenOnce(options, signal), {
    ...options,
    pause: RECONNECT_WAIT,
    failure,
  });
}

async function listenOnce({ location, onNotify }: NotificationOptions, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({ connectionString: location, keepAlive: true });
  const ended = new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  ended.catch(() => {});
  client.on('notification', ({ payload }) => onNotify(payload ?? ''));
  try {
    await Promise.race([client.connect().then(() => client.query('listen tilewarden')), ended]);
    await ended;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Milliseconds. */
const CONNECT_TIMEOUT = 5000;
const STATEMENT_TIMEOUT = 30_000;
const LOCK_TIMEOUT = 15_000;
/** A process that hangs inside a transaction loses it, and with it its locks, before its leases run out. */
const IDLE_TIMEOUT = 5000;
/** A server that is silent for longer than any statement may take is unreachable. */
const SILENCE = STATEMENT_TIMEOUT + 5000;
const INT8 = pg.types.builtins.INT8;
/** Classes and codes of PostgreSQL's errors, and Node's, of a connection and not of a statement. */
const AWAY = /^(08...|57P0[1-5]|53300|25P03|E[A-Z]{3,})$/;
const AWAY_WORDS =
  /^(Connection terminated|timeout e|Query read timeout|Client has encountered a connection)/;

/** Connections that report an unreachable server as `database-unreachable`, and are not used again after that. */
function openPool({ location, log }: DatabaseOptions, max: number): PostgresPool {
  const pool = new pg.Pool({
    connectionString: location,
    max,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    query_timeout: SILENCE,
    statement_timeout: STATEMENT_TIMEOUT,
    lock_timeout: LOCK_TIMEOUT,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT,
    types: { getTypeParser: parserOf },
  });
  // Without listeners a connection that breaks, idle or in use, would end the process. The second is added as soon
  // as a connection is made: the messages that it is ready and that it has ended may arrive together.
  pool.on('error', (error) => log.warn({ err: error }, 'a database connection was lost'));
  pool.on('connect', (client) => client.on('error', () => {}));
  return {
    connect: async () => watched(await pool.connect().catch(refuseAway)),
    end: () => pool.end(),
  };
}

function watched(client: pg.PoolClient): PostgresPoolClient {
  let broken = false;
  const ask = async (...statement: readonly unknown[]) => {
    try {
      return await Reflect.apply(client.query, client, statement);
    } catch (error) {
      broken ||= isAway(error);
      return refuseAway(error);
    }
  };
  return {
    query: ask as PostgresPoolClient['query'],
    release: () => client.release(broken),
  };
}

function refuseAway(error: unknown): never {
  if (!isAway(error)) throw error;
  throw new DatabaseError('database-unreachable', 'The database cannot be reached now; try again later.', {
    cause: error,
  });
}

function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return AWAY.test(errorCode(error) ?? '') || AWAY_WORDS.test(error.message);
}

/** Typed after node-postgres, whose own signature has an overload for each of its formats. */
const parserOf: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? (text: string) => exactNumber(BigInt(text)) : pg.types.getTypeParser(oid, format as 'text');
