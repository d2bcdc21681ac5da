import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Clock } from '../lib/clock.ts';

/** How often a file is checked for changes. */
const RECHECK_MS = 1000;
/** Milliseconds for which the process blocks while another program writes to the file. */
const LOCK_TIMEOUT_MS = 50;

export type SqliteDatabase = Database.Database;

interface OpenFile<Tables> {
  readonly db: SqliteDatabase;
  readonly tables: Tables;
  /** Changes when the file is replaced or written to. */
  readonly stamp: string;
  /** Time of the file, in milliseconds since 1970. */
  readonly changedAt: number;
  checkedAt: number;
}

export type SqliteFile<Tables> = ReturnType<typeof openSqliteFile<Tables>>;

/** An SQLite file of another program. `prepare` reads its tables. It is opened on first use, and again after a change. */
export function openSqliteFile<Tables>(path: string, clock: Clock, prepare: (db: SqliteDatabase) => Tables) {
  let open: OpenFile<Tables> | null = null;

  function close(): void {
    open?.db.close();
    open = null;
  }

  return {
    /** Throws errors of the file system, the library and `prepare`. */
    current(): Pick<OpenFile<Tables>, 'tables' | 'changedAt'> {
      const now = clock.monotonic();
      if (open && now - open.checkedAt < RECHECK_MS) return open;
      const { stamp, changedAt } = stampOf(path);
      if (open?.stamp !== stamp) {
        close();
        open = { ...openReadOnly(path, prepare), stamp, changedAt, checkedAt: now };
      }
      open.checkedAt = now;
      return open;
    },
    close,
  };
}

function stampOf(path: string): { readonly stamp: string; readonly changedAt: number } {
  const status = statSync(path);
  // The library would wait for the other end of a pipe.
  if (!status.isFile()) throw new Error(`${path} is not a file`);
  const { ino, size, mtimeMs } = status;
  return { stamp: `${ino} ${size} ${mtimeMs}`, changedAt: mtimeMs };
}

function openReadOnly<Tables>(path: string, prepare: (db: SqliteDatabase) => Tables) {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: LOCK_TIMEOUT_MS });
  try {
    // Views and triggers of a foreign file must not call functions.
    db.pragma('trusted_schema = OFF');
    return { db, tables: prepare(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}
