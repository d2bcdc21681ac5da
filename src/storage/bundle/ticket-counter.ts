import { existsSync, rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { BundleLayout } from './bundle-layout.ts';
import { makeSharedFile } from './shared-file.ts';
import { isDamage } from './sqlite-failure.ts';

/** Pages of the log after which it is copied into the file: one for each ticket. */
const CHECKPOINT_PAGES = 20_000;

const SCHEMA = `
  PRAGMA page_size = 512;
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL);
  INSERT OR IGNORE INTO counter VALUES (1, 0);
`;

export interface TicketCounter {
  /** Greater than `after` and than all that were given out before, in any process. */
  next(after: number): number;
  close(): void;
}

/**
 * Counts in microseconds, for all processes on the store. After a power cut it may have gone back, and so it begins
 * after `aside`, which is durable: no later ticket than that was given out.
 */
export function openTicketCounter(layout: BundleLayout, aside: number): TicketCounter {
  const db = openFile(layout);
  const count = db
    .prepare<[number], number>('UPDATE counter SET last = max(last, ?) + 1 RETURNING last')
    .pluck();
  try {
    count.get(aside);
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    next: (after) => count.get(after) as number,
    close: () => db.close(),
  };
}

/** A damaged one is made again: what it counted is known. */
function openFile(layout: BundleLayout): Database.Database {
  try {
    return opened(layout);
  } catch (error) {
    if (!isDamage(error)) throw error;
    for (const end of ['', '-wal', '-shm']) rmSync(`${layout.tickets}${end}`, { force: true });
    return opened(layout);
  }
}

function opened({ making, tickets }: BundleLayout): Database.Database {
  if (!existsSync(tickets)) makeSharedFile(making, tickets, SCHEMA);
  const db = new Database(tickets, { fileMustExist: true, timeout: 0 });
  try {
    // A commit is not synced.
    db.pragma('synchronous = NORMAL');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.exec('SELECT last FROM counter');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
