import { crc32 } from 'node:zlib';
import type { TileIndex, TileSetKey } from '../../domain/tile-key.ts';
import { blockAt, type TileRect, WHOLE_LEVEL } from '../../domain/tile-rect.ts';
import type { Env } from '../../lib/env.ts';
import type { BytePlace } from '../bytes.ts';
import { createDoubts } from '../doubts.ts';
import { type IndexedTile, PACK_SIZE, packOf, slotOf } from '../index/directory.ts';
import { isBusy, patiently, storeFailure } from '../index/index-failure.ts';
import type { IndexFile } from '../index/index-file.ts';
import { FIRST_PACK, type IndexReader, type PackCursor, ShownPacks } from '../index/index-reader.ts';
import { entriesIn, shownBy } from '../index/mark-rows.ts';
import { openMarks, SQLITE_MARKS } from '../index/marks.ts';
import { FIRST_PAGE, readPages, readUsage, SQLITE_PAGES } from '../index/pages.ts';
import { prepareScripts } from '../index/script.ts';
import { eachSlice, editSlices } from '../index/slices.ts';
import { packTiles } from '../pack-tiles.ts';
import {
  type EvictionOrder,
  NO_CHANGE,
  type PageFilter,
  type Store,
  type StoredTile,
  type TilePlace,
} from '../store.ts';
import type { RunCommand } from './segment-writer.ts';

interface IndexedStoreParts extends Env {
  readonly db: IndexFile;
  readonly reader: IndexReader;
  /** Null if bytes are missing. */
  readonly readBytes: (set: number, place: BytePlace) => Buffer | null;
  readonly run: RunCommand;
  /** Called when commands are likely to follow, so that the writing thread can start. */
  readonly start: () => unknown;
}

/** Packs listed in one turn of the event loop: a thousand tiles. */
const PACKS_IN_A_TURN = 16;

/** The reading half of a local store. Changes are commands to the writing half, `SegmentWriting`. */
export function createIndexedStore(parts: IndexedStoreParts): Omit<Store, 'close'> {
  const { db, reader, readBytes, run, start, clock, log } = parts;
  const packs = new ShownPacks(reader);
  const runScript = prepareScripts(db);
  const doubt = createDoubts({ clock, log });
  const read = <T>(work: () => T): Promise<T> => patiently(work, clock);

  /** Null if the tile is not in the index, or hidden by a mark. */
  function readNow(set: TileSetKey, { z, x, y }: TileIndex): FoundTile | null {
    const pack = packs.find(set, z, packOf(x), packOf(y));
    const tile = pack?.directory.find(slotOf(x, y));
    if (!pack || !tile) return null;
    const shown = pack.marks.length === 0 ? tile.making : shownBy(pack.marks, tile.making, x, y);
    if (!shown) return null;
    const bytes = readBytes(pack.set, tile);
    if (!bytes || crc32(bytes) !== tile.checksum) return { tile, stored: null };
    const { createdAt, freshUntil, madeBy } = shown;
    return { tile, stored: { bytes, checksum: tile.checksum, createdAt, freshUntil, madeBy } };
  }

  /** Reads again after wrong bytes, because the segment may have been compacted in between; else discards the tile. */
  async function readAgain(set: TileSetKey, tile: TileIndex): Promise<StoredTile | null> {
    const found = await read(() => readNow(set, tile));
    if (!found || found.stored) return found?.stored ?? null;
    const { segment, offset, length } = found.tile;
    const place = { segment, offset, length };
    doubt();
    const removed = await run('discard', [set, tile.z, tile.x, tile.y, place]);
    if (removed.tiles === 0) return (await read(() => readNow(set, tile)))?.stored ?? null;
    log.warn({ ...tile, layer: set.layer, ...place }, 'removed a damaged tile; it will be created again');
    return null;
  }

  /** In a transaction, so that tiles and marks are of the same moment. */
  const slice = (set: TileSetKey, z: number, rect: TileRect, after: PackCursor) =>
    db.transaction(() => {
      const id = reader.setRow(set);
      if (id === null) return { items: [], next: null };
      const { rows, next } = reader.packsWithin(id, z, rect, after, PACKS_IN_A_TURN);
      const items = rows.flatMap((row) => {
        const marks = reader.marks(set, z, blockAt(row.x, row.y, PACK_SIZE));
        return entriesIn(row, id, z, rect, marks);
      });
      return { items, next };
    })();

  return {
    isLocal: true,
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
      return run('put', [{ set, z, ticket, at: clock.now(), slots, bytes }]);
    },

    list: (set, z, rect = WHOLE_LEVEL) =>
      eachSlice(FIRST_PACK, (after) => read(() => slice(set, z, rect, after))),
    edit: (set, z, rect, edit, signal) =>
      editSlices(signal, (after) => run('edit', [{ set, z, rect, edit, after, at: clock.now() }])),
    drop: (layer, set) => run('drop', [layer, set, clock.now()]),
    ticket(layer, place) {
      start();
      return read(() => reader.ticket(layer, place));
    },
    mark: (change) => run('mark', [change]),
    marks: ((of: string | number = 0, place?: TilePlace) =>
      typeof of === 'string'
        ? read(() => reader.generation(of, place))
        : read(() => runScript(openMarks(SQLITE_MARKS, of)))) as Store['marks'],
    usage: ((of?: string | PageFilter | EvictionOrder) =>
      typeof of === 'object'
        ? eachSlice(FIRST_PAGE, (after) => read(() => runScript(readPages(SQLITE_PAGES, of, after))))
        : read(() => runScript(readUsage(SQLITE_PAGES, of)))) as Store['usage'],
  };
}

interface FoundTile {
  readonly tile: IndexedTile;
  /** Null if its bytes are missing or have a wrong checksum. */
  readonly stored: StoredTile | null;
}
