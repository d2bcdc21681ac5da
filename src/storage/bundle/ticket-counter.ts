import type { BundleLayout } from './bundle-layout.ts';
import { openRenewableFile } from './shared-file.ts';

/** Pages of the log after which it is copied into the file: one for each ticket. */
const CHECKPOINT_PAGES = 20_000;

const SCHEMA = `
  PRAGMA page_size = 512;
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL);
  INSERT OR IGNORE INTO counter VALUES (1, 0);
`;

const COUNT = 'UPDATE counter SET last = max(last, ?) + 1 RETURNING last';

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
  const db = openRenewableFile({
    making: layout.making,
    path: layout.tickets,
    schema: SCHEMA,
    timeoutMs: 0,
    prepare(file) {
      file.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      file.prepare<[number]>(COUNT).get(aside);
    },
  });
  const count = db.prepare<[number], number>(COUNT).pluck();
  return {
    next: (after) => count.get(after) as number,
    close: () => db.close(),
  };
}
