import { closeSync, fsyncSync, openSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';

/** A copy as of one moment, while other processes write to the database. It is on the disk when this returns. */
export function copySqlite(from: string, to: string): void {
  const source = new BetterSqlite3(from, { readonly: true, fileMustExist: true });
  try {
    source.prepare<[string]>('VACUUM INTO ?').run(to);
  } finally {
    source.close();
  }
  const copy = new BetterSqlite3(to);
  try {
    copy.pragma('journal_mode = wal');
  } finally {
    copy.close();
  }
  const descriptor = openSync(to, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
