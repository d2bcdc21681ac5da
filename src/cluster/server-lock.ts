import { once } from 'node:events';
import type { DatabaseOptions } from '../db/database.ts';
import { connectSession, endSession, type SessionClient } from '../db/postgres/session-client.ts';
import { openRepeater } from '../lib/repeat.ts';

interface ServerLockOptions extends DatabaseOptions {
  /** Whether other servers may use the database too: all stores of this one can be shared. */
  readonly shared: boolean;
}

/** Milliseconds to wait for the lock: PostgreSQL may keep that of a killed server for a moment. */
const LOCK_TIMEOUT_MS = 5000;
const PAUSE = 250;
const KEY = "hashtext('tilewarden:local-stores')";

/**
 * Keeps other servers off the database of a server whose stores cannot be shared: a lock on a separate connection,
 * which PostgreSQL releases however the server ends. It is taken again when the connection breaks; if another server was
 * faster, that is logged. Null: another server holds it.
 */
export async function openServerLock(options: ServerLockOptions): Promise<{ close(): Promise<void> } | null> {
  const first = await takeInTime(options);
  if (!first) return null;
  let session = first;

  async function keep(stop: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([session.lost, stop]);
    if (!ended.aborted) await once(ended, 'abort');
    if (stop.aborted) return;
    const next = await take(options);
    if (!next) throw new Error('Another server holds it.');
    session = next;
  }

  const failure = 'The lock that keeps other servers from this database is lost.';
  const keeping = openRepeater(keep, { ...options, pause: PAUSE, failure, level: 'error' });
  return {
    async close() {
      await keeping.close();
      await endSession(session);
    },
  };
}

async function takeInTime(options: ServerLockOptions): Promise<SessionClient | null> {
  const deadline = options.clock.monotonic() + LOCK_TIMEOUT_MS;
  for (;;) {
    const session = await take(options);
    if (session || options.clock.monotonic() > deadline) return session;
    await options.clock.sleep(PAUSE);
  }
}

/** Null: another server holds it. */
async function take({ location, shared }: ServerLockOptions): Promise<SessionClient | null> {
  const session = await connectSession(location);
  const lock = shared ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
  let held: boolean | undefined;
  try {
    held = (await session.client.query<{ held: boolean }>(`select ${lock}(${KEY}) as held`)).rows[0]?.held;
  } finally {
    if (!held) await endSession(session);
  }
  return held ? session : null;
}
