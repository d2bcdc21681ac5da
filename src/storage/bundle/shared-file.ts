import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { hasCode } from '../../lib/error-code.ts';

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

function syncFolderNow(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
