import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { isBusy } from './migrate.ts';

const LOCK_FILE = 'lock.db';

/** Null when another server holds the folder. */
export function openDataFolderLock(folder: string): { close(): void } | null {
  return openFileLock(join(folder, LOCK_FILE));
}

/**
 * Null when another process holds it. The lock is the operating system's own on an open file: it ends with
 * the process, however that ends, so a killed holder does not block it.
 */
export function openFileLock(file: string): { close(): void } | null {
  const database = new BetterSqlite3(file, { timeout: 0 });
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
  return { close: () => database.close() };
}
