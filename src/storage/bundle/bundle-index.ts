import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Statement } from 'better-sqlite3';
import { systemClock } from '../../lib/clock.ts';
import { maskOf } from '../page-mask.ts';
import { type BlockContent, sumOfChanges } from '../tile-store.ts';
import type { Sqlite } from './bundle-file.ts';
import type { BundleLayout } from './bundle-layout.ts';
import { PAGES, type PageRow } from './bundle-reader.ts';
import { openRenewableFile } from './shared-file.ts';

/** The sums of a bundle. */
export interface BundleCounts extends Pick<BlockContent, 'mask' | 'tiles' | 'bytes' | 'diskBytes'> {
  readonly identity: string;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

/** As it was read from the bundle. */
export interface BundleSummary extends BundleCounts {
  readonly pages: readonly PageRow[];
}

/**
 * `resting`: it has no writer, and the index has its content. `open`: a process may write to it, or died doing
 * so: it has to be read. `gone`: it was removed.
 */
type BundleState = 'resting' | 'open' | 'gone';

export interface IndexedBundle {
  /** Rises with every change of any row. */
  readonly change: number;
  /** The bundle's folder, below that of the layers. */
  readonly id: string;
  readonly state: BundleState;
  /** Of the file at rest. */
  readonly stamp: string;
  /** Null unless it is resting. */
  readonly counts: BundleCounts | null;
}

interface Row extends Omit<IndexedBundle, 'state' | 'counts'>, Omit<BundleCounts, 'identity' | 'mask'> {
  readonly state: number;
  readonly identity: string | null;
  /** Hexadecimal: a number of SQLite does not fit into one of JavaScript. */
  readonly mask: string;
}

const STATES: readonly BundleState[] = ['gone', 'resting', 'open'];
const [GONE, RESTING, OPEN] = [0, 1, 2];
/** Milliseconds after which removed bundles are no longer listed. */
const REMEMBERED = 24 * 3_600_000;
/** Rows read in one go. */
const SLICE = 500;
const COMPLETE = 1;

/** In the order of the covering index: page tables are not read for a report. */
const COLUMNS = 'change, id, state, stamp, identity, disk_bytes, at, tiles, bytes, mask';
const ROW =
  'change, id, state, stamp, identity, disk_bytes AS diskBytes, at AS changedAt, tiles, bytes, mask';
const COVERING_INDEX = `CREATE INDEX IF NOT EXISTS content_in_order ON content (${COLUMNS});`;
/** The columns that version 0.2 did not have. */
const SUMS = ['bytes INTEGER NOT NULL DEFAULT 0', "mask TEXT NOT NULL DEFAULT '0'"];

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS content (
    id TEXT PRIMARY KEY, change INTEGER NOT NULL, state INTEGER NOT NULL, at INTEGER NOT NULL,
    stamp TEXT NOT NULL DEFAULT '', identity TEXT, disk_bytes INTEGER NOT NULL DEFAULT 0,
    tiles INTEGER NOT NULL DEFAULT 0, pages TEXT NOT NULL DEFAULT '[]', ${SUMS.join(', ')}
  );
  ${COVERING_INDEX}
  CREATE INDEX IF NOT EXISTS content_open ON content (state) WHERE state = ${OPEN};
`;
/** Pages are kept as `[page, tiles, bytes, written_at]`. */
const ADD_SUMS = `
  DROP INDEX content_told;
  ALTER TABLE content DROP COLUMN page_count;
  ${SUMS.map((column) => `ALTER TABLE content ADD COLUMN ${column};`).join('\n')}
  UPDATE content SET (bytes, mask) =
    (SELECT ifnull(sum(value ->> 2), 0), format('%x', ifnull(sum(1 << (value ->> 0)), 0)) FROM json_each(pages));
  ${COVERING_INDEX}
`;
const NEXT = '(SELECT ifnull(max(change), 0) + 1 FROM content)';
const BELOW = "id >= ? || '/' AND id < ? || '0'";

/**
 * The content of every bundle of the store, for all its processes, so that none has to read the files. A bundle is
 * marked open before the first write of a session, while its writer holds it, and described when its last writer has
 * put it to rest and still keeps others out. A crash leaves it open, and its content is read from the bundle itself.
 */
export class BundleIndex {
  readonly #db: Sqlite;
  readonly #root: string;
  readonly #pages: Statement<[string], { identity: string; pages: string }>;

  /** `timeoutMs` is how many milliseconds a call may block its thread. */
  constructor(layout: BundleLayout, timeoutMs: number) {
    this.#root = layout.layers;
    this.#db = openRenewableFile({
      making: layout.making,
      path: layout.index,
      schema: SCHEMA,
      timeoutMs,
      // What a power cut takes from it shows in the stamps, and is looked at.
      prepare(db) {
        db.prepare('SELECT 1 FROM content LIMIT 1').get();
        db.transaction(addSums).immediate(db);
      },
    });
    this.#pages = this.#db.prepare(
      `SELECT identity, pages FROM content WHERE id = ? AND state = ${RESTING} AND identity IS NOT NULL`,
    );
  }

  /** Returns the change by which the mark is known. */
  opened(folder: string): number {
    return this.#db
      .prepare<[string, number], number>(
        `INSERT INTO content (id, change, state, at) VALUES (?, ${NEXT}, ${OPEN}, ?) ON CONFLICT (id) DO UPDATE
         SET change = ${NEXT}, state = ${OPEN}, at = excluded.at, stamp = '', identity = NULL RETURNING change`,
      )
      .pluck()
      .get(this.idOf(folder), systemClock.now()) as number;
  }

  /** The caller keeps other writers out. Nothing is described that has been moved away. */
  rested(folder: string, path: string, summary: BundleSummary): void {
    this.#db
      .transaction(() => {
        const stamp = stampAtRest(path);
        if (stamp === null) return;
        const { identity, diskBytes, changedAt, tiles, bytes, mask, pages } = summary;
        const rows = pages.map(({ page, tiles, bytes, written_at }) => [page, tiles, bytes, written_at]);
        this.#db
          .prepare(
            `REPLACE INTO content (id, change, state, at, stamp, identity, disk_bytes, tiles, bytes, mask, pages)
             VALUES (?, ${NEXT}, ${RESTING}, ?, ?, ?, ?, ?, ?, ?, ?)`,
          )
          .run(
            this.idOf(folder),
            changedAt,
            stamp,
            identity,
            diskBytes,
            tiles,
            bytes,
            mask.toString(16),
            JSON.stringify(rows),
          );
      })
      .immediate();
  }

  /** Unless it has changed since `change`: another may have been made in its place. */
  gone(folder: string, change: number): void {
    this.#db
      .prepare(
        `UPDATE content SET change = ${NEXT}, state = ${GONE}, at = ?, identity = NULL WHERE id = ? AND change = ?`,
      )
      .run(systemClock.now(), this.idOf(folder), change);
  }

  /** Before a folder of bundles is moved away. Returns the change by which the mark is known. */
  dropping(folder: string): number {
    const id = this.idOf(folder);
    const change = this.#db.prepare<[], number>(`SELECT ${NEXT}`).pluck();
    return this.#db
      .transaction(() => {
        const next = change.get() ?? 1;
        this.#db
          .prepare(`UPDATE content SET change = ?, state = ${OPEN} WHERE ${BELOW} AND state <> ${GONE}`)
          .run(next, id, id);
        return next;
      })
      .immediate();
  }

  /** Afterwards. Bundles written to the folder in between have to be read. */
  dropped(folder: string, change: number): void {
    const id = this.idOf(folder);
    this.#db
      .transaction(() => {
        this.#db
          .prepare(
            `UPDATE content SET change = ${NEXT}, state = ${OPEN} WHERE ${BELOW} AND change > ? AND state = ${RESTING}`,
          )
          .run(id, id, change);
        this.#db
          .prepare(
            `UPDATE content SET change = ${NEXT}, state = ${GONE}, at = ?, identity = NULL WHERE ${BELOW} AND change = ?`,
          )
          .run(systemClock.now(), id, id, change);
      })
      .immediate();
  }

  /** Rows that have changed after one, by their changes, some at a time. */
  changesAfter({ change, id }: Pick<IndexedBundle, 'change' | 'id'>): readonly IndexedBundle[] {
    return this.#db
      .prepare<[number, string], Row>(
        `SELECT ${ROW} FROM content
         WHERE (change, id) > (?, ?) ORDER BY change, id LIMIT ${SLICE}`,
      )
      .all(change, id)
      .map((row) => this.#bundleOf(row));
  }

  forgetLongGone(): void {
    this.#db
      .prepare(
        `DELETE FROM content WHERE state = ${GONE} AND at < ? AND change < (SELECT max(change) FROM content)`,
      )
      .run(systemClock.now() - REMEMBERED);
  }

  /** Whether all bundles have been compared with it once. */
  get isComplete(): boolean {
    return this.#db.pragma('user_version', { simple: true }) === COMPLETE;
  }

  completed(): void {
    this.#db.pragma(`user_version = ${COMPLETE}`);
  }

  /** Bundles that have to be looked at, behind a row of the table, some at a time. */
  openAfter(row: number): readonly { readonly row: number; readonly id: string }[] {
    return this.#db
      .prepare<[number], { row: number; id: string }>(
        `SELECT rowid AS row, id FROM content WHERE state = ${OPEN} AND rowid > ? ORDER BY rowid LIMIT ${SLICE}`,
      )
      .all(row);
  }

  /** What a resting bundle holds. */
  countsOf(folder: string): BundleCounts | null {
    return this.find(this.idOf(folder))?.counts ?? null;
  }

  find(id: string): IndexedBundle | null {
    const row = this.#db.prepare<[string], Row>(`SELECT ${ROW} FROM content WHERE id = ?`).get(id);
    return row ? this.#bundleOf(row) : null;
  }

  close(): void {
    this.#db.close();
  }

  /** The pages of a bundle that is resting; null when it has to be looked at. */
  pagesOf(id: string): Pick<BundleSummary, 'identity' | 'pages'> | null {
    const row = this.#pages.get(id);
    return row ? { identity: row.identity, pages: pagesIn(row.pages) } : null;
  }

  #bundleOf({ change, id, state, stamp, identity, mask, ...sums }: Row): IndexedBundle {
    const counts = identity === null ? null : { identity, ...sums, mask: BigInt(`0x${mask}`) };
    return { change, id, state: STATES[state] ?? 'open', stamp, counts };
  }

  idOf(folder: string): string {
    return folder.slice(this.#root.length + 1);
  }
}

/** Null when it is not in its place. */
export function stampAtRest(path: string): string | null {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file ? `${basename(path)} ${file.size}:${file.mtimeNs}` : null;
}

/** An index of version 0.2 gets the sums from the pages it lists. */
function addSums(db: Sqlite): void {
  const has = db.prepare("SELECT 1 FROM pragma_table_info('content') WHERE name = 'mask'").get();
  if (!has) db.exec(ADD_SUMS);
}

function pagesIn(text: string): readonly PageRow[] {
  const rows = JSON.parse(text) as [number, number, number, number][];
  return rows.map(([page, tiles, bytes, written_at]) => ({ page, tiles, bytes, written_at }));
}

/** Bytes in which file systems commonly hand out room. */
const ROOM_GRAIN = 4096;
/** Bytes a file system gives for each block that `stat` counts. */
const BLOCK_BYTES = 512;

const SUMMARY = `
  SELECT identity, (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS size
  FROM bundle`;

/** Of one moment, when the caller holds a transaction. */
export function summaryOfBundle(db: Sqlite, path: string): BundleSummary | null {
  const changedAt = changedAtOf(path);
  const summary = db.prepare<[], { identity: string; size: number }>(SUMMARY).get();
  if (!summary) return null;
  const folder = statSync(dirname(path), { throwIfNoEntry: false });
  const file = Math.ceil(summary.size / ROOM_GRAIN) * ROOM_GRAIN;
  const diskBytes = file + (folder?.blocks ?? 0) * BLOCK_BYTES;
  const pages = db.prepare<[], PageRow>(PAGES).all();
  const mask = maskOf(pages.map(({ page }) => page));
  return { identity: summary.identity, diskBytes, changedAt, ...sumOfChanges(pages), mask, pages };
}

/** Milliseconds since 1970. */
function changedAtOf(path: string): number {
  const times = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.floor(Math.max(...times));
}
