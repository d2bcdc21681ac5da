import { rmSync, statSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { tileSetOf } from '../../domain/tile-key.ts';
import { putNoted } from '../bytes.ts';
import { Directory, type IndexedTile, type PackPosition } from '../index/directory.ts';
import { durably, type IndexFile } from '../index/index-file.ts';
import type { ChangeSums, preparePackChanges } from '../index/pack-changes.ts';
import { type PackObject, readRecord } from '../pack-object.ts';
import { type SegmentBytes, WRITER_GONE_AFTER } from './segment-bytes.ts';
import { segmentFiles, segmentPath, setFolder } from './segment-files.ts';

interface UpkeepOptions {
  readonly db: IndexFile;
  readonly root: string;
  /** The name of this thread in the table of segments. */
  readonly writer: string;
  readonly bytes: SegmentBytes;
  readonly changes: ReturnType<typeof preparePackChanges>;
  readonly sweepBytesPerSecond: number;
}

interface ClaimedSegment {
  readonly id: number;
  readonly tile_set: number;
  /** Identity of the tile set. */
  readonly identity: string;
}

/** A segment whose live tiles are moved to others, and the progress of that. */
interface Compaction extends ClaimedSegment {
  offset: number;
  /** Null while the segment's records are followed. After a damaged record, all packs are scanned; up to this row so far. */
  scanned: number | null;
}

/** Milliseconds between rounds. */
const INTERVAL_MS = 1000;
/** Rows that a transaction removes, and bytes or packs in a step of a compaction: some milliseconds each. */
const ROWS = 1000;
const STEP_BYTES = 4 * 1024 ** 2;
const STEP_PACKS = 500;
/** A segment is compacted if half of it is dead (named by no row); in a store above both limits, if `MAX_DEAD` of it is. */
const MAX_DEAD = 0.2;
const MIN_DEAD_BYTES = 64 * 1024 ** 2;

/** Milliseconds between two searches for files that no row names, and their minimum age for removal. */
const ORPHAN_INTERVAL_MS = 3_600_000;
const ORPHAN_AGE_MS = 86_400_000;

/** Frees the space of dropped tile sets and of removed tiles, in small steps between the commands of the writer. */
export class SegmentUpkeep {
  readonly #options: UpkeepOptions;
  #compaction: Compaction | null = null;
  /** When there may be work again, in milliseconds since 1970. */
  #dueAt = 0;
  #orphansDueAt = 0;
  #orphans: ReadonlySet<number> = new Set();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  wake(): void {
    this.#dueAt = 0;
  }

  /** Does a part of the work, and returns the milliseconds until the next step. */
  step(): number {
    this.#options.bytes.tidy();
    if (Date.now() < this.#dueAt) return INTERVAL_MS;
    const swept = this.#sweep();
    if (swept !== null) return swept;
    this.#compaction ??= this.#claim();
    if (!this.#compaction) {
      this.#removeOrphans();
      // By then, segments of processes that have died count as complete.
      this.#dueAt = Date.now() + WRITER_GONE_AFTER;
      return INTERVAL_MS;
    }
    this.#compact(this.#compaction);
    return 0;
  }

  /** Removes a file or some rows of a dropped tile set; null if there is none. */
  #sweep(): number | null {
    const { db, root, bytes, sweepBytesPerSecond } = this.#options;
    const set = this.#number('SELECT id FROM tile_sets WHERE dropped_at IS NOT NULL LIMIT 1');
    if (set === undefined) return null;
    const segment = db
      .prepare<[number], { readonly id: number; readonly size: number }>(
        'SELECT id, size FROM segments WHERE tile_set = ? LIMIT 1',
      )
      .get(set);
    if (segment) {
      bytes.free(set, [segment.id]);
      db.prepare<[number]>('DELETE FROM segments WHERE id = ?').run(segment.id);
      return (segment.size / sweepBytesPerSecond) * 1000;
    }
    for (const table of ['packs', 'pages']) {
      const rows = `SELECT id FROM ${table} WHERE tile_set = ? LIMIT ${ROWS}`;
      const { changes } = db.prepare<[number]>(`DELETE FROM ${table} WHERE id IN (${rows})`).run(set);
      if (changes > 0) return 0;
    }
    db.prepare<[number]>('DELETE FROM usage WHERE tile_set = ?').run(set);
    rmSync(setFolder(root, set), { recursive: true, force: true });
    db.prepare<[number]>('DELETE FROM tile_sets WHERE id = ?').run(set);
    return 0;
  }

  /**
   * Removes files that a crash has left without a row: those that had none at the last search, an hour ago, either, and
   * have not changed for a day. Files are listed before rows, because a row is written before its file. A file whose
   * number the index has not used yet is left: the index is older than the file.
   */
  #removeOrphans(): void {
    const { db, root, bytes } = this.#options;
    const now = Date.now();
    if (now < this.#orphansDueAt) return;
    this.#orphansDueAt = now + ORPHAN_INTERVAL_MS;
    const files = segmentFiles(root);
    const named = new Set(db.prepare<[], number>('SELECT id FROM segments').pluck().all());
    const last = this.#number("SELECT seq FROM sqlite_sequence WHERE name = 'segments'") ?? 0;
    const orphans = files.filter(({ segment }) => !named.has(segment) && segment <= last);
    const old = orphans.filter(({ set, segment }) => {
      const file = statSync(segmentPath(root, set, segment), { throwIfNoEntry: false });
      return file !== undefined && file.mtimeMs < now - ORPHAN_AGE_MS;
    });
    for (const { set, segment } of old) if (this.#orphans.has(segment)) bytes.free(set, [segment]);
    this.#orphans = new Set(old.map(({ segment }) => segment));
  }

  /**
   * Claims the segment with the largest dead share, if that is worth copying the rest; other processes then leave it alone.
   * One of size 0 was not written to, or its process was killed before a row named the bytes.
   */
  #claim(): Compaction | null {
    const { db, writer } = this.#options;
    const { filled, dead } = db
      .prepare<[], { filled: number; dead: number }>(
        'SELECT ifnull(sum(filled), 0) AS filled, ifnull(sum(filled - live), 0) AS dead FROM segments',
      )
      .get() ?? { filled: 0, dead: 0 };
    const share = dead > MIN_DEAD_BYTES && dead > filled * MAX_DEAD ? 1 - MAX_DEAD : 0.5;
    const now = Date.now();
    const claimed = db
      .prepare<[string, number, number, number, string], ClaimedSegment>(
        `UPDATE segments SET writer = ?, written_at = ? WHERE id = (
           SELECT id FROM segments WHERE live <= filled * ? AND (live < filled OR size = 0) AND (writer IS NULL OR written_at < ? OR writer = ?)
             AND tile_set IN (SELECT id FROM tile_sets WHERE dropped_at IS NULL)
           ORDER BY CAST(live AS REAL) / filled LIMIT 1)
         RETURNING id, tile_set, (SELECT identity FROM tile_sets s WHERE s.id = tile_set) AS identity`,
      )
      .get(writer, now, share, now - WRITER_GONE_AFTER, writer);
    if (!claimed) return null;
    const { bytes } = this.#options;
    if (bytes.segmentOf(claimed.tile_set) === claimed.id) bytes.leave(claimed.tile_set);
    return { ...claimed, offset: 0, scanned: null };
  }

  #compact(compaction: Compaction): void {
    const { db, bytes } = this.#options;
    const { id: segment, tile_set: set } = compaction;
    if (!bytes.has({ set, segment }) && this.#liveBytes(segment) > 0) {
      // Readers discard its tiles one by one, or the file comes back. Until half of them is gone, nothing counts as dead.
      db.prepare<[number]>('UPDATE segments SET filled = live WHERE id = ?').run(segment);
      this.#compaction = null;
      return;
    }
    const isOver = compaction.scanned === null ? this.#followRecords(compaction) : this.#scan(compaction);
    // The copies are synced before the originals are removed, so that a power cut loses neither.
    bytes.sync(compaction.tile_set);
    if (!isOver) return;
    this.#compaction = null;
    durably(db, () => db.prepare<[number]>('DELETE FROM segments WHERE id = ?').run(compaction.id));
    bytes.free(compaction.tile_set, [compaction.id]);
  }

  /** Moves the packs of some records. Returns whether all are done. */
  #followRecords(compaction: Compaction): boolean {
    const { bytes } = this.#options;
    const end = compaction.offset + STEP_BYTES;
    while (compaction.offset < end) {
      const { tile_set, id, offset } = compaction;
      const record = readRecord((at, length) => bytes.readSome(tile_set, id, at, length), offset);
      if (record === 'end' && this.#liveBytes(id) <= 0) return true;
      if (typeof record === 'string') {
        compaction.scanned = 0;
        return false;
      }
      const { z, x, y } = record.head;
      this.#move(compaction, { set: tile_set, z, x, y });
      compaction.offset = record.end;
    }
    return false;
  }

  #scan(compaction: Compaction): boolean {
    const rows = this.#options.db
      .prepare<[number, number], { id: number; z: number; x: number; y: number }>(
        `SELECT id, z, x, y FROM packs WHERE tile_set = ? AND id > ? ORDER BY id LIMIT ${STEP_PACKS}`,
      )
      .all(compaction.tile_set, compaction.scanned ?? 0);
    for (const { z, x, y } of rows) this.#move(compaction, { set: compaction.tile_set, z, x, y });
    compaction.scanned = rows.at(-1)?.id ?? compaction.scanned;
    return rows.length < STEP_PACKS;
  }

  /** Copies the tiles of a pack that are still named in the segment, and lets the row name the copies. */
  #move({ id, identity }: Compaction, position: PackPosition): void {
    const { db, bytes, changes } = this.#options;
    const row = changes.rowOf(position);
    const all = (row && Directory.read(row.detail, position)?.tiles()) ?? [];
    const tiles = all.filter(({ segment }) => segment === id);
    if (tiles.length === 0) return;
    const copies = tiles.flatMap((tile) => {
      const content = bytes.get(position.set, tile);
      return content && crc32(content) === tile.checksum ? [{ tile, content }] : [];
    });
    const name = db.transaction(() => {
      const put = () => putNoted(bytes, position.set, [recordOf(identity, position, copies)]).places;
      const [places = []] = copies.length > 0 ? put() : [];
      const moved = new Map(copies.map(({ tile }, at) => [tile.slot, { tile, place: places[at] }]));
      const replace = (tile: IndexedTile) => {
        if (tile.segment !== id) return tile;
        const copy = moved.get(tile.slot);
        return copy?.place && copy.tile.offset === tile.offset ? { ...tile, ...copy.place } : [];
      };
      const sums: ChangeSums = { live: new Map(), writtenAt: null, changedAt: 0 };
      changes.change(position, changes.rowOf(position), (present) => present.flatMap(replace), sums);
      changes.finish(sums.live);
    });
    name.immediate();
  }

  #liveBytes(segment: number): number {
    return this.#number('SELECT live FROM segments WHERE id = ?', segment) ?? 0;
  }

  /** The first column of the query's first row. */
  #number(query: string, ...parameters: number[]): number | undefined {
    return this.#options.db
      .prepare<number[], number>(query)
      .pluck()
      .get(...parameters);
  }
}

function recordOf(
  identity: string,
  { z, x, y }: PackPosition,
  copies: readonly { readonly tile: IndexedTile; readonly content: Buffer }[],
): PackObject {
  const tiles = copies.map(({ tile: { slot, checksum, making }, content }) => {
    return { slot, checksum, making, bytes: content };
  });
  return { set: tileSetOf(identity), z, x, y, tiles };
}
