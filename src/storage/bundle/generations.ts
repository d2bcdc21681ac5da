import { existsSync, readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { systemClock } from '../../lib/clock.ts';
import { isNoRoom } from '../../lib/error-code.ts';
import { MARKS_KEPT, type Ticket, type TilePlace } from '../tile-store.ts';
import type { BundleLayout } from './bundle-layout.ts';
import { makeSharedFile } from './shared-file.ts';
import { isBusy, isRefused } from './sqlite-failure.ts';
import { openTicketCounter, type TicketCounter } from './ticket-counter.ts';

/** Milliseconds a writer waits for writers of other processes. */
export const WRITER_TIMEOUT_MS = 15_000;

const [RESERVED_PAGES, PAGE_BYTES] = [16, 4096];
/** One fills a page. */
const ROW_BYTES = 3000;
const FILL_RESERVE = `
  WITH RECURSIVE numbers (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM numbers WHERE id < ${RESERVED_PAGES})
  REPLACE INTO reserve SELECT id, randomblob(${ROW_BYTES}) FROM numbers`;

/** Tickets that are set aside with one write to the disk. */
const TICKETS_ASIDE = 65_536;

export type Generations = ReturnType<typeof openGenerations>;

/**
 * The order of writers and truncations, shared by all processes on the store. A generation is greater than every ticket
 * that was set aside before it, and every ticket that is given out afterwards is greater than it. Kept with a rollback journal, not with a log as bundles are: reading it needs no second file, so that a store opens
 * on a disk that is full or may only be read. `timeoutMs` is how many milliseconds a call may block its thread.
 */
export function openGenerations(layout: BundleLayout, timeoutMs: number) {
  if (!existsSync(layout.generations)) {
    makeSharedFile(layout.making, layout.generations, `${TABLES} ${afterTicketsOf(layout)}`);
  }
  const db = new Database(layout.generations, { fileMustExist: true, timeout: timeoutMs });
  // Here each commit is synced: an acknowledged truncation outlives a power cut.
  db.pragma('synchronous = FULL');
  // The end of the journal is synced too: a deleted one might be back after a power cut, and undo what was
  // acknowledged. It keeps its room, so that a layer can be truncated on a full disk.
  db.pragma('journal_mode = PERSIST');
  if (!hasTable(db, 'aside')) withReserve(db, () => db.exec(TABLES));
  const select = db.prepare<[string], number>('SELECT number FROM generation WHERE layer = ?').pluck();
  const upsert = db.prepare<[string, number]>(
    'INSERT INTO generation VALUES (?, ?) ON CONFLICT (layer) DO UPDATE SET number = excluded.number',
  );
  const next = db
    .prepare<[], number>(
      `UPDATE aside SET latest = tickets + 1, tickets = tickets + 1 + ${TICKETS_ASIDE} RETURNING latest`,
    )
    .pluck();
  const aside = db.prepare<[], { readonly tickets: number; readonly latest: number }>(
    'SELECT tickets, latest FROM aside',
  );
  const setAside = db.prepare<[number]>(`UPDATE aside SET tickets = max(tickets, ? + ${TICKETS_ASIDE})`);
  const floorOf = db
    .prepare<[string], number>(
      `SELECT number FROM mark WHERE layer = ? GROUP BY number ORDER BY number DESC LIMIT 1 OFFSET ${MARKS_KEPT}`,
    )
    .pluck();
  const latestAt = db
    .prepare<[string, string, string, number, number, number, number, number], number | null>(
      `SELECT max(number) FROM (
         SELECT number FROM mark WHERE layer = ? AND grid_set IS NULL UNION ALL
         SELECT number FROM mark WHERE layer = ? AND grid_set = ? AND z = ?
           AND min_x <= ? AND max_x >= ? AND min_y <= ? AND max_y >= ?)`,
    )
    .pluck();
  const forget = db.prepare<[string, number]>('DELETE FROM mark WHERE layer = ? AND number <= ?');
  const markAll = db.prepare<[string, number]>('INSERT INTO mark (layer, number) VALUES (?, ?)');
  const mark = db.prepare('INSERT INTO mark VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  const raise = (name: string, places: readonly TilePlace[] | null) => {
    const layer = JSON.stringify(name);
    const number = next.get() ?? 0;
    upsert.run(layer, number);
    for (const { gridSet, z, rect } of places ?? []) {
      mark.run(layer, number, gridSet, z, rect.minX, rect.minY, rect.maxX, rect.maxY);
    }
    const floor = places ? floorOf.get(layer) : number;
    if (floor === undefined) return number;
    forget.run(layer, floor);
    markAll.run(layer, floor);
    return number;
  };
  const raiseOne = db.transaction(raise);
  const raiseAll = db.transaction((layers: readonly string[]) => {
    const numbers = layers.map((layer) => raise(layer, null));
    return numbers[0] ?? 0;
  });
  if (timeoutMs > 0) keepReserve(db, layout.generations);
  const read = (layer: string, place?: TilePlace): number => {
    const key = JSON.stringify(layer);
    if (!place) return select.get(key) ?? 0;
    const { minX, minY, maxX, maxY } = place.rect;
    return latestAt.get(key, key, place.gridSet, place.z, maxX, minX, maxY, minY) ?? 0;
  };
  const state = () => aside.get() ?? { tickets: 0, latest: 0 };
  let counter: TicketCounter | null = null;
  return {
    read,
    ticket(layer: string, place?: TilePlace): Ticket {
      // Before the number: a generation raised from now on is greater than it, or sees that it was given out.
      const { tickets, latest } = state();
      counter ??= openTicketCounter(layout, tickets);
      const number = counter.next(latest);
      if (number > tickets) setAside.run(number);
      return { number, generation: read(layer, place) };
    },
    /** Durable when it returns, and seen by every later `read` in any process. */
    raise: (layer: string, places?: readonly TilePlace[] | null): number =>
      withReserve(db, () => raiseOne.immediate(layer, places ?? null)),
    /** The same for many whole layers: all of them or none. The first of their numbers. */
    raiseAll: (layers: readonly string[]): number => withReserve(db, () => raiseAll.immediate(layers)),
    close(): void {
      counter?.close();
      db.close();
    },
  };
}

/**
 * Where tiles exist and their order was lost, its last number is unknown. It continues with the milliseconds since 1970,
 * which are ahead of any store that raises a generation less than once a minute.
 */
function afterTicketsOf({ layers }: BundleLayout): string {
  const isNew = !existsSync(layers) || readdirSync(layers).length === 0;
  return isNew ? '' : `UPDATE aside SET tickets = ${systemClock.now()};`;
}

function hasTable(db: Database.Database, name: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined;
}

/**
 * Room that was taken while there was some, so that layers can be truncated on a full disk: rows that are given up for
 * others, and a journal as long as the one of overwriting them.
 */
function keepReserve(db: Database.Database, path: string): void {
  try {
    const journal = statSync(`${path}-journal`, { throwIfNoEntry: false });
    db.exec('CREATE TABLE IF NOT EXISTS reserve (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
    const kept = db.prepare<[], number>('SELECT count(*) FROM reserve').pluck().get() ?? 0;
    if (kept === RESERVED_PAGES && (journal?.size ?? 0) > RESERVED_PAGES * PAGE_BYTES) return;
    db.exec(FILL_RESERVE);
    // Rows that are overwritten in their places are what makes the journal long.
    db.exec(`UPDATE reserve SET bytes = randomblob(${ROW_BYTES})`);
  } catch (error) {
    if (!isRefused(error) && !isBusy(error)) throw error;
  }
}

function withReserve<T>(db: Database.Database, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isNoRoom(error)) throw error;
    db.exec('DELETE FROM reserve');
    return work();
  }
}

/**
 * A mark without a grid set is of the whole layer. `aside`: tickets up to this one may have been given out, and the
 * latest generation of any layer.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS generation (layer TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS mark (layer TEXT NOT NULL, number INTEGER NOT NULL, grid_set TEXT, z INTEGER,
    min_x INTEGER, min_y INTEGER, max_x INTEGER, max_y INTEGER);
  CREATE INDEX IF NOT EXISTS mark_by_place ON mark (layer, grid_set, z);
  CREATE TABLE IF NOT EXISTS aside (id INTEGER PRIMARY KEY CHECK (id = 1), tickets INTEGER NOT NULL, latest INTEGER NOT NULL);
  INSERT OR IGNORE INTO aside SELECT 1, ifnull(max(number), 0), ifnull(max(number), 0) FROM generation;`;

/** Creations and moves in the folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
