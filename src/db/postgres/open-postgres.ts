import { EventEmitter } from 'node:events';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Semaphore } from '../../lib/semaphore.ts';
import { type Database, DatabaseError, type DatabaseOptions } from '../database.ts';
import { migrate } from '../migrate.ts';
import type { Schema } from '../schema.ts';
import { openNotifications } from './notifications.ts';
import { LOCK_TIMEOUT, openPool } from './open-pool.ts';

/** Connections for reading, and for transactions: those that wait for a lock keep nobody from reading. */
const READERS = 4;
const WRITERS = 4;
const LOCK_NOT_AVAILABLE = '55P03';
/** serialization_failure and deadlock_detected: the server asks for another try. */
const TRY_AGAIN = ['40001', '40P01'];
const ATTEMPTS = 5;

export async function openPostgres(options: DatabaseOptions): Promise<Database> {
  const query = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPool(options, READERS) }) });
  const writer = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPool(options, WRITERS) }) });
  const turns = new Map<string, Semaphore>();
  const bus = new EventEmitter().setMaxListeners(0);
  const notifications = openNotifications({ ...options, heard: (channel) => bus.emit(channel) });
  await greet(query, notifications.close);

  const database: Database = {
    dialect: 'postgres',
    query,
    change: writer,
    async transaction(lock, work) {
      if (lock === null)
        return tryAgain(() => writer.transaction().execute(work)).catch(refuseBusy('of a task'));
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
        return refuseBusy(lock)(error);
      } finally {
        leave();
      }
    },
    async now() {
      const time = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
      return (await time.execute(query)).rows[0]?.now ?? 0;
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

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function refuseBusy(lock: string): (error: unknown) => never {
  return (error) => {
    if (!hasCode(error, LOCK_NOT_AVAILABLE)) throw error;
    const seconds = LOCK_TIMEOUT / 1000;
    const message = `Another process has held the database lock ${lock} for ${seconds} s.`;
    throw new DatabaseError('database-busy', message, { cause: error });
  };
}
