import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import Database from 'better-sqlite3';
import {
  NO_CHANGE,
  negated,
  type StoreChange,
  sumOfChanges,
  type TileEdit,
  type TileLimits,
} from '../tile-store.ts';
import {
  type CheckedTile,
  COUNT_RANGE,
  isIntact,
  openForReading,
  openForWriting,
  proofOf,
  proofSeed,
  putToRest,
  type Sqlite,
  syncBundle,
  TILE_BYTES,
  TILE_LENGTH,
} from './bundle-file.ts';
import { type KeyRange, keysOfPage, PAGES_PER_BUNDLE, type PageCover, pageOfKey } from './bundle-grid.ts';
import { type BundleIndex, summaryOfBundle } from './bundle-index.ts';
import { DamagedBundle } from './sqlite-failure.ts';
import type { KeyedTile } from './write-commands.ts';

/** Bytes. Larger tiles are seldom equal. */
const MAX_SHARED = 1500;
/** Checksums that are remembered, to know what comes again. */
const MAX_SEEN = 1000;

/** Changes how long tiles count as fresh. */
export type FreshnessEdit = Exclude<TileEdit, { readonly type: 'remove' }>;

/** Later than any tile. */
export const FOREVER = Number.MAX_SAFE_INTEGER;

/** A bundle that is open for writing. The page statistics change in the same transaction as the tiles they count. */
export class BundleEditor {
  readonly path: string;
  /** Of the proofs of its tiles. */
  readonly #seed: number;
  readonly #db: Sqlite;
  readonly #index: BundleIndex;
  /** By which the index knows that the bundle is open. */
  #mark = 0;
  readonly #statements: ReturnType<typeof statementsOf>;
  #emptied = false;
  #freed = false;
  /** Whether a tile was replaced or removed: its shared content may be unused now. */
  #released = false;
  /** Checksums of small tiles that were put here. */
  readonly #seen = new Set<number>();
  /** Shared pictures of this transaction, by checksum. */
  readonly #shared = new Map<number, Uint8Array>();
  /** By the monotonic clock of the thread. */
  usedAt = 0;

  private constructor(path: string, db: Sqlite, index: BundleIndex) {
    this.path = path;
    this.#seed = proofSeed(index.idOf(dirname(path)));
    this.#db = db;
    this.#index = index;
    this.#statements = statementsOf(db);
  }

  /** Null when the file has gone. */
  static open(path: string, index: BundleIndex): BundleEditor | null {
    const editor = BundleEditor.#opened(path, index);
    try {
      if (editor) editor.#mark = index.opened(dirname(path));
      return editor;
    } catch (error) {
      editor?.close();
      throw error;
    }
  }

  static #opened(path: string, index: BundleIndex): BundleEditor | null {
    let db: Sqlite | null = null;
    try {
      db = openForWriting(path);
      return new BundleEditor(path, db, index);
    } catch (error) {
      db?.close();
      if (!existsSync(path)) return null;
      throw DamagedBundle.if(error, path);
    }
  }

  /** Whether the last deletion took all there was; its rows are then removed with the file. */
  get emptied(): boolean {
    return this.#emptied;
  }

  /** The bundle's file is in its place until the bundle is removed, and its name is never used again. */
  isCurrent(): boolean {
    return existsSync(this.path);
  }

  begin(): void {
    this.usedAt = performance.now();
    this.#emptied = false;
    this.#shared.clear();
    this.#guarded(() => this.#statements.begin.run());
  }

  /** `at`: milliseconds since 1970. */
  put(tiles: readonly KeyedTile[], ticket: number, at: number): StoreChange {
    return this.#guarded(() => {
      const changes = new Map<number, StoreChange>();
      for (const tile of tiles) this.#replace(tile, ticket, changes);
      return this.#count(changes, at);
    });
  }

  delete(covers: readonly PageCover[], limits: TileLimits = {}): StoreChange {
    const bounds = boundsOf(limits);
    const isAll = bounds.every((bound) => bound === FOREVER);
    return this.#guarded(() => {
      const present = new Map(this.#statements.pages.all().map((row) => [row.page, row]));
      const touched = covers.filter((cover) => present.has(cover.page));
      const changes = new Map(
        touched.map((cover) => [
          cover.page,
          negated((isAll && cover.whole && present.get(cover.page)) || this.#countOf(cover.ranges, bounds)),
        ]),
      );
      const left = sumOfChanges(present.values()).tiles + sumOfChanges(changes.values()).tiles;
      this.#emptied = left === 0;
      if (this.#emptied) return sumOfChanges(changes.values());
      for (const range of touched.flatMap((cover) => cover.ranges)) {
        this.#statements.deleteRange.run(range.first, range.last, ...bounds);
      }
      this.#freed = true;
      this.#released = true;
      return this.#count(changes);
    });
  }

  /** Returns how many tiles that are. */
  freshen(ranges: readonly KeyRange[], edit: FreshnessEdit): number {
    const { markStale, confirm } = this.#statements;
    const run = ({ first, last }: KeyRange) => {
      if (edit.type === 'outdate') return markStale.run(edit.at, edit.at, first, last, ...boundsOf(edit));
      const { createdAt, freshUntil, madeBy, ticket } = edit;
      return confirm.run(createdAt, freshUntil, madeBy, ticket, first, last, ticket);
    };
    return this.#guarded(() => ranges.reduce((tiles, range) => tiles + run(range).changes, 0));
  }

  /** Counts tile by tile and corrects the page statistics; returns by how much. */
  recount(): StoreChange {
    return this.#guarded(() => {
      const known = new Map(this.#statements.pages.all().map((row) => [row.page, row]));
      const changes = new Map<number, StoreChange>();
      for (let page = 0; page < PAGES_PER_BUNDLE; page++) {
        const found = this.#countOf([keysOfPage(page)]);
        const drift = sumOfChanges([found, negated(known.get(page) ?? NO_CHANGE)]);
        if (drift.tiles !== 0 || drift.bytes !== 0) changes.set(page, drift);
      }
      if (changes.size > 0) this.#count(changes);
      return sumOfChanges([...changes.values()].map(absolute));
    });
  }

  /** Removes a tile that a reader found damaged, if it is: it may have been replaced since, or misread. */
  discard(key: number): StoreChange {
    return this.#guarded(() => {
      const row = this.#statements.tile.get(key);
      if (!row || isIntact(row, this.#seed, key)) return NO_CHANGE;
      this.#statements.deleteRange.run(key, key, ...UNBOUNDED);
      this.#released = true;
      return this.#count(new Map([[pageOfKey(key), negated({ tiles: 1, bytes: row.bytes.length })]]));
    });
  }

  /** Space that a deletion freed goes back to the file system. */
  commit(): void {
    this.#guarded(() => {
      if (this.#emptied) return;
      this.#statements.commit.run();
      if (this.#freed) this.#vacuum();
      this.#freed = false;
    });
  }

  sync(): void {
    this.#guarded(() => syncBundle(this.#db));
  }

  rollBackUnlessCommitted(): void {
    if (this.#db.inTransaction) this.#statements.rollBack.run();
  }

  /** A log that cannot be copied now, as on a full disk, stays and is read. */
  close(): void {
    try {
      if (!this.isCurrent()) return;
      ifPossible(() => {
        if (this.#released && this.#statements.removeUnshared.run().changes > 0) this.#vacuum();
      });
      ifPossible(() => rest(this.#db, this.path, this.#index));
    } finally {
      this.#db.close();
    }
  }

  /** The file has been moved away. */
  removed(): void {
    this.#index.gone(dirname(this.path), this.#mark);
  }

  #replace(tile: KeyedTile, ticket: number, changes: Map<number, StoreChange>): void {
    const { key, createdAt, freshUntil, validator, madeBy, bytes } = tile;
    const former = this.#statements.former.get(key);
    if (former && former.ticket > ticket) return;
    const checksum = crc32(bytes);
    const own = this.#isShared(checksum, bytes) ? null : bytes;
    const proof = proofOf(this.#seed, key, checksum);
    this.#statements.replace.run(key, createdAt, checksum, freshUntil, validator, madeBy, ticket, proof, own);
    this.#released ||= former !== undefined;
    const change = { tiles: former ? 0 : 1, bytes: bytes.length - (former?.bytes ?? 0) };
    changes.set(pageOfKey(key), sumOfChanges([changes.get(pageOfKey(key)), change]));
  }

  /** Small tiles that come a second time are kept once. What was shared in the last transaction may be gone in this one. */
  #isShared(checksum: number, bytes: Uint8Array): boolean {
    if (bytes.length > MAX_SHARED) return false;
    if (!this.#seen.has(checksum)) {
      if (this.#seen.size >= MAX_SEEN) this.#seen.clear();
      this.#seen.add(checksum);
      return false;
    }
    const { shared, share } = this.#statements;
    const known = this.#shared.get(checksum) ?? shared.get(checksum);
    if (!known) share.run(checksum, bytes);
    this.#shared.set(checksum, known ?? bytes);
    return !known || Buffer.compare(known, bytes) === 0;
  }

  #vacuum(): void {
    this.#db.exec('PRAGMA incremental_vacuum');
  }

  /** `writtenAt`: when tiles were put; a removal is no writing. */
  #count(changes: ReadonlyMap<number, StoreChange>, writtenAt = 0): StoreChange {
    for (const [page, { tiles, bytes }] of changes) {
      this.#statements.addToPage.run(page, tiles, bytes, writtenAt);
    }
    this.#statements.removeEmptyPages.run();
    return sumOfChanges(changes.values());
  }

  #countOf(ranges: readonly KeyRange[], bounds = UNBOUNDED): StoreChange {
    const { countRange } = this.#statements;
    return sumOfChanges(ranges.map(({ first, last }) => countRange.get(first, last, ...bounds)));
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw DamagedBundle.if(error, this.path);
    }
  }
}

function ifPossible(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
  }
}

/** Of a bundle that is not open for writing here. */
export function restBundle(path: string, index: BundleIndex): void {
  const db = openForReading(path);
  try {
    rest(db, path, index);
  } finally {
    db.close();
  }
}

/** Describes the bundle while others are kept from writing to it. */
function rest(db: Sqlite, path: string, index: BundleIndex): void {
  if (!putToRest(db)) return;
  db.transaction(() => {
    const summary = summaryOfBundle(db, path);
    if (summary) index.rested(dirname(path), path, summary);
  }).immediate();
}

type Bounds = readonly [createdBefore: number, ticketsBefore: number];
type Range = [first: number, last: number, ...Bounds];

const UNBOUNDED: Bounds = [FOREVER, FOREVER];

function boundsOf({ createdBefore = FOREVER, before = FOREVER }: TileLimits): Bounds {
  return [createdBefore, before];
}

function statementsOf(db: Sqlite) {
  return {
    begin: db.prepare<[]>('BEGIN IMMEDIATE'),
    commit: db.prepare<[]>('COMMIT'),
    rollBack: db.prepare<[]>('ROLLBACK'),
    former: db.prepare<[number], { readonly bytes: number; readonly ticket: number }>(
      `SELECT ${TILE_LENGTH} AS bytes, ticket FROM tile WHERE key = ?`,
    ),
    replace: db.prepare<
      [
        ...[number, number, number, number | null, string | null, number | null],
        ...[number, number, Uint8Array | null],
      ]
    >(
      `REPLACE INTO tile (key, created_at, checksum, fresh_until, validator, made_by, ticket, proof, bytes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    shared: db.prepare<[number], Buffer>('SELECT bytes FROM shared WHERE checksum = ?').pluck(),
    share: db.prepare<[number, Uint8Array]>('INSERT INTO shared (checksum, bytes) VALUES (?, ?)'),
    removeUnshared: db.prepare<[]>(
      'DELETE FROM shared WHERE checksum NOT IN (SELECT checksum FROM tile WHERE bytes IS NULL)',
    ),
    // As `outdatedSince` does.
    markStale: db.prepare<[number, number, ...Range]>(
      'UPDATE tile SET fresh_until = iif(fresh_until < 0, fresh_until, -max(1, min(ifnull(fresh_until, ?), ?))) WHERE key BETWEEN ? AND ? AND created_at < ? AND ticket < ?',
    ),
    confirm: db.prepare<[number, number | null, number | null, number, number, number, number]>(
      'UPDATE tile SET created_at = ?, fresh_until = ?, made_by = ?, ticket = ? WHERE key BETWEEN ? AND ? AND ticket <= ?',
    ),
    pages: db.prepare<[], StoreChange & { readonly page: number }>('SELECT page, tiles, bytes FROM page'),
    addToPage: db.prepare<[number, number, number, number]>(
      `INSERT INTO page (page, tiles, bytes, written_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (page) DO UPDATE SET
         tiles = tiles + excluded.tiles, bytes = bytes + excluded.bytes,
         written_at = max(written_at, excluded.written_at)`,
    ),
    removeEmptyPages: db.prepare<[]>('DELETE FROM page WHERE tiles = 0'),
    countRange: db.prepare<Range, StoreChange>(`${COUNT_RANGE} AND ticket < ?`),
    deleteRange: db.prepare<Range>(
      'DELETE FROM tile WHERE key BETWEEN ? AND ? AND created_at < ? AND ticket < ?',
    ),
    tile: db.prepare<[number], CheckedTile>(
      `SELECT checksum, proof, ${TILE_BYTES} AS bytes FROM tile WHERE key = ?`,
    ),
  };
}

function absolute({ tiles, bytes }: StoreChange): StoreChange {
  return { tiles: Math.abs(tiles), bytes: Math.abs(bytes) };
}
