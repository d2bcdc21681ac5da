import Database from 'better-sqlite3';
import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { isNoRoom } from '../../lib/error-code.ts';

/** Milliseconds that a caller waits for locks of other processes, and between two attempts. */
const BUSY_TIMEOUT_MS = 15_000;
const BUSY_PAUSE_MS = 1;

/** Whether another connection holds a lock that this one needs. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error).startsWith('SQLITE_BUSY');
}

export function isRefusedByTrigger(error: unknown): boolean {
  return sqliteCode(error) === 'SQLITE_CONSTRAINT_TRIGGER';
}

/** Whether the file is not an index, or is damaged. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT');
}

/** An error that `isDamage` recognises, for an empty file, which SQLite takes for an empty database. */
export function noIndex(): Error {
  return new Database.SqliteError('There is no index beside the segments.', 'SQLITE_NOTADB');
}

/** `where` is the store, or its folder. */
export function storeFailure(error: unknown, where = 'the tile store'): TilewardenError {
  if (isTilewardenError(error)) return error;
  if (isNoRoom(error)) {
    const message = `The disk of ${where} is full: free some space.`;
    return new TilewardenError('store-full', message, { cause: error });
  }
  if (isDamage(error)) {
    const advice =
      'List the tiles again with "tilewarden rebuild-index", or restore the folder from a backup.';
    const message = `The index of ${where} is damaged or missing. ${advice}`;
    return new TilewardenError('store-failed', message, { cause: error });
  }
  return new TilewardenError('store-failed', 'The tile store failed.', { cause: error });
}

/** Retries while another process holds a lock that `work` needs; yields the thread in between. */
export async function patiently<T>(work: () => T, clock: Clock): Promise<T> {
  const begun = clock.monotonic();
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() - begun > BUSY_TIMEOUT_MS) throw storeFailure(error);
      await clock.sleep(BUSY_PAUSE_MS);
    }
  }
}

/** For `Atomics.wait` as a pause: no thread wakes it. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));
/** Milliseconds. SQLite's own pauses grow to 100, while another process's transaction takes less than 1. */
const LOCK_PAUSE_MS = 0.3;

/** As `patiently`, for a thread that may block. */
export function blockingly<T>(work: () => T): T {
  const until = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      Atomics.wait(NEVER, 0, 0, LOCK_PAUSE_MS);
    }
  }
}

function sqliteCode(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : '';
}
