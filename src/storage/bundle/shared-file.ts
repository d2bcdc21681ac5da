import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { hasCode } from '../../lib/error-code.ts';
import { isDamage } from './sqlite-failure.ts';

interface RenewableFile {
  readonly making: string;
  readonly path: string;
  /** Of a new one. */
  readonly schema: string;
  /** How many milliseconds a call may block its thread. */
  readonly timeoutMs: number;
  /** Also shows whether the file can be read. */
  readonly prepare: (db: Database.Database) => void;
}

/** For what can be worked out again: a damaged file is made again. A commit is not synced. */
export function openRenewableFile(file: RenewableFile): Database.Database {
  try {
    return opened(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    for (const end of ['', '-wal', '-shm']) rmSync(`${file.path}${end}`, { force: true });
    return opened(file);
  }
}

function opened({ making, path, schema, timeoutMs, prepare }: RenewableFile): Database.Database {
  if (!existsSync(path)) makeSharedFile(making, path, schema);
  const db = new Database(path, { fileMustExist: true, timeout: timeoutMs });
  try {
    db.pragma('synchronous = NORMAL');
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * An SQLite file that is whole, in its journal mode, from the first moment another process can see it. Of several
 * processes that create it concurrently one succeeds; the others find that one's file.
 */
export function makeSharedFile(making: string, path: string, sql: string): void {
  const file = join(making, `${randomUUID()}.sqlite`);
  mkdirSync(making, { recursive: true });
  try {
    fill(file, sql);
    linkSync(file, path);
    syncFolderNow(dirname(path));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
  }
}

function fill(file: string, sql: string): void {
  const db = new Database(file);
  try {
    db.pragma('synchronous = FULL');
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Blocks its thread. */
export function syncFolderNow(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
