import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { TileIndex, TileSetKey } from '../../domain/tile-key.ts';
import { blockAt, rectContains, type TileRect, WHOLE_LEVEL } from '../../domain/tile-rect.ts';
import type { Env } from '../../lib/env.ts';
import { openRepeater } from '../../lib/repeat.ts';
import { Directory, type IndexedTile, PACK_SIZE, packOf, slotOf, tileInPack } from '../index/directory.ts';
import { isBusy, patiently, storeFailure } from '../index/index-failure.ts';
import { openIndexFile } from '../index/index-file.ts';
import { FIRST_PACK, IndexReader, type PackCursor } from '../index/index-reader.ts';
import { readOpenMarks, shownBy } from '../index/mark-rows.ts';
import { FIRST_PAGE, type PageCursor, type PageSlice, readPages } from '../index/page-rows.ts';
import { ShownPacks } from '../index/shown-packs.ts';
import { packTiles } from '../pack-tiles.ts';
import type { PageFilter, PageUsage, Store, StoreUsage } from '../store.ts';
import {
  NO_CHANGE,
  type OpenMark,
  type StoreChange,
  type StoredTile,
  sumOfChanges,
  type TileEntry,
  type TilePlace,
} from '../store.ts';
import type { EditCommand, EditResult } from './put-command.ts';
import { SegmentReader } from './segment-files.ts';
import { SegmentWriter } from './segment-writer.ts';

export interface SegmentStoreOptions {
  /** Segments kept open for reading. */
  readonly maxOpenSegments: number;
  readonly sweepBytesPerSecond: number;
  /** Bytes at which a segment is full. */
  readonly segmentBytes?: number;
}

interface SegmentStoreTools extends Env {
  /** Absolute; made when it is not there. */
  readonly root: string;
}

/** Milliseconds without a read after which a segment is closed. */
const IDLE_AFTER = 30_000;
const TIDY_INTERVAL = 5000;
/** Packs that are listed in one turn of the event loop: a thousand tiles. */
const PACKS_IN_A_TURN = 16;

/** Several stores, in one process or in many, may be open on the same root. */
export async function openSegmentStore(
  { maxOpenSegments, ...options }: SegmentStoreOptions,
  { root, clock, log }: SegmentStoreTools,
): Promise<Store> {
  // The thread that writes copies the log into the file: a reader's commit, of a ticket, never waits for the disk.
  const db = await patiently(() => openIndexFile(root, { timeoutMs: 0, checkpointPages: 0 }), clock);
  const reader = new IndexReader(db);
  const packs = new ShownPacks(reader);
  const segments = new SegmentReader(root, maxOpenSegments);
  const writer = new SegmentWriter({ root, ...options }, log);
  const tidying = openRepeater(() => segments.closeIdle(clock.monotonic() - IDLE_AFTER), {
    clock,
    log,
    pause: TIDY_INTERVAL,
    failure: 'could not close unused segments',
    pauseFirst: true,
  });
  const read = <T>(work: () => T): Promise<T> => patiently(work, clock);

  /** Null: the index names none, or a mark hides it. */
  function readNow(set: TileSetKey, { z, x, y }: TileIndex): FoundTile | null {
    const pack = packs.find(set, z, packOf(x), packOf(y));
    const tile = pack?.directory.find(slotOf(x, y));
    if (!pack || !tile) return null;
    const shown = pack.marks.length === 0 ? tile.making : shownBy(pack.marks, tile.making, x, y);
    if (!shown) return null;
    const bytes = segments.read(pack.set, tile, clock.monotonic());
    if (!bytes || crc32(bytes) !== tile.checksum) return { tile, stored: null };
    const { createdAt, freshUntil, madeBy } = shown;
    return { tile, stored: { bytes, checksum: tile.checksum, createdAt, freshUntil, madeBy } };
  }

  /** A segment may have been compacted between the look at its row and that at its bytes. */
  async function readAgain(set: TileSetKey, tile: TileIndex): Promise<StoredTile | null> {
    const found = await read(() => readNow(set, tile));
    if (!found || found.stored) return found?.stored ?? null;
    const { segment, offset, length } = found.tile;
    const place = { segment, offset, length };
    const removed = await writer.run('discard', [set, tile.z, tile.x, tile.y, place]);
    if (removed.tiles === 0) return (await read(() => readNow(set, tile)))?.stored ?? null;
    log.warn({ ...tile, layer: set.layer, ...place }, 'removed a damaged tile; it will be created again');
    return null;
  }

  /** In a transaction, so that tiles and marks are those of one moment. */
  const slice = (set: TileSetKey, z: number, rect: TileRect, after: PackCursor) =>
    db.transaction(() => {
      const id = reader.setRow(set);
      if (id === null) return { tiles: [], next: null };
      const { rows, next } = reader.packsWithin(id, z, rect, after, PACKS_IN_A_TURN);
      const tiles = rows.flatMap((row) => {
        const marks = reader.marks(set, z, blockAt(row.x, row.y, PACK_SIZE));
        const directory = Directory.read(row.detail, { set: id, z, x: row.x, y: row.y });
        return (directory?.tiles() ?? []).flatMap((tile): TileEntry[] => {
          const { x, y } = tileInPack(row, tile.slot);
          if (!rectContains(rect, x, y)) return [];
          const shown = shownBy(marks, tile.making, x, y);
          const { createdAt, validator } = tile.making;
          const { freshUntil } = shown ?? tile.making;
          return [{ z, x, y, bytes: tile.length, createdAt, freshUntil, validator, hidden: !shown }];
        });
      });
      return { tiles, next };
    })();

  async function* pagesOf(filter: PageFilter): AsyncGenerator<readonly PageUsage[]> {
    for (let after: PageCursor | null = FIRST_PAGE; after; ) {
      const from: PageCursor = after;
      const { pages, next }: PageSlice = await read(() => readPages(db, filter, from));
      if (pages.length > 0) yield pages;
      after = next;
    }
  }

  function usage(): Promise<StoreUsage>;
  function usage(pages: PageFilter): AsyncIterable<readonly PageUsage[]>;
  function usage(pages?: PageFilter): Promise<StoreUsage> | AsyncIterable<readonly PageUsage[]> {
    return pages ? pagesOf(pages) : read(() => reader.usage());
  }

  function marks(): Promise<readonly OpenMark[]>;
  function marks(layer: string, place?: TilePlace): Promise<number>;
  function marks(layer?: string, place?: TilePlace): Promise<readonly OpenMark[]> | Promise<number> {
    if (layer === undefined) return read(() => readOpenMarks(db));
    return read(() => reader.generation(layer, place));
  }

  return {
    get(set, tile) {
      try {
        const found = readNow(set, tile);
        return found?.stored === null ? readAgain(set, tile) : (found?.stored ?? null);
      } catch (error) {
        if (isBusy(error)) return readAgain(set, tile);
        throw storeFailure(error);
      }
    },

    async put(set, z, tiles, ticket) {
      if (tiles.length === 0) return NO_CHANGE;
      const { slots, bytes } = packTiles(tiles);
      return writer.run('put', [{ set, z, ticket, at: clock.now(), slots, bytes }], [bytes.buffer]);
    },

    async *list(set, z, rect = WHOLE_LEVEL) {
      let after: PackCursor | null = FIRST_PACK;
      while (after) {
        const from: PackCursor = after;
        const { tiles, next } = await read(() => slice(set, z, rect, from));
        if (tiles.length > 0) yield tiles;
        after = next;
        if (next) await nextTurn();
      }
    },

    async edit(set, z, rect, edit, signal) {
      const done: StoreChange[] = [];
      for (let after: PackCursor | null = FIRST_PACK; after; ) {
        signal?.throwIfAborted();
        const command: EditCommand = { set, z, rect, edit, after, at: clock.now() };
        const { next, tiles, bytes }: EditResult = await writer.run('edit', [command]);
        done.push({ tiles, bytes });
        after = next;
      }
      return sumOfChanges(done);
    },

    drop: (layer, set) => writer.run('drop', [layer, set, clock.now()]),
    ticket(layer, place) {
      writer.start();
      return read(() => reader.ticket(layer, place));
    },
    mark: (change) => writer.run('mark', [change]),
    marks,
    usage,
    async close() {
      await tidying.close();
      await writer.close();
      segments.close();
      db.close();
    },
  };
}

interface FoundTile {
  readonly tile: IndexedTile;
  /** Null: its bytes are not what the index says. */
  readonly stored: StoredTile | null;
}
