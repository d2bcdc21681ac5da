import type { Database } from '../../db/database.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { TileIndex, TileSetKey } from '../../domain/tile-key.ts';
import { rectOfTile, type TileRect, WHOLE_LEVEL } from '../../domain/tile-rect.ts';
import { sizeOf } from '../../lib/schemas.ts';
import { createDoubts } from '../doubts.ts';
import { PACK_SIZE, slotOf } from '../index/directory.ts';
import { FIRST_PACK, type PackCursor } from '../index/index-reader.ts';
import { entriesIn } from '../index/mark-rows.ts';
import { createMarkIndex } from '../index/postgres/mark-index.ts';
import { PackIndex } from '../index/postgres/pack-index.ts';
import { createPageIndex } from '../index/postgres/page-index.ts';
import { eachSlice, editSlices } from '../index/slices.ts';
import { editTiles } from '../index/tile-edits.ts';
import {
  type EvictionOrder,
  NO_CHANGE,
  type PageFilter,
  type Store,
  type StoreChange,
  sumOfChanges,
  type TileEdit,
  type TilePlace,
} from '../store.ts';
import type { StoreTools } from '../store-driver.ts';
import { DiskTier } from './disk-tier.ts';
import { createObjectBytes } from './object-bytes.ts';
import { createObjectFiles } from './object-files.ts';
import type { ObjectStore } from './object-store.ts';
import { createPackReader } from './pack-reader.ts';
import type { PackStoreOptions } from './pack-store-options.ts';
import { PackSweeper } from './pack-sweeper.ts';
import { PackWriter, UNCONDITIONAL } from './pack-writer.ts';
import { createSentinel } from './sentinel.ts';

export interface PackStoreTools extends Omit<StoreTools, 'root' | 'readOnly' | 'openCopies'> {
  readonly openBucket: () => Promise<ObjectStore>;
  /** For copies of tiles, with the option `cache`. */
  readonly copies?: Store | null;
}

/** Tiles that are read from the index, or edited, in one turn of the event loop: some milliseconds. */
export const TILES_IN_A_TURN = 512;
const PACKS_IN_A_TURN = TILES_IN_A_TURN / PACK_SIZE ** 2;

/** A shared store: packs of tiles as objects, listed in PostgreSQL. Readers see only objects that are listed. */
export async function openPackStore(
  options: PackStoreOptions & { readonly type: string },
  tools: PackStoreTools,
): Promise<Store> {
  const { name, clock, log, copies } = tools;
  const database = postgresOf(options, tools);
  const { prefix, cache } = options;
  const bucket = await tools.openBucket();
  const bytes = createObjectBytes(bucket, prefix);
  const index = new PackIndex(database, name);
  const markIndex = createMarkIndex(database, name);
  const pages = createPageIndex(database, name);
  const writer = new PackWriter({ index, bytes, clock });
  const sentinel = createSentinel({ bucket, prefix, database, name, index });
  // Without a response of the object store, the server starts nevertheless.
  const wrong = await sentinel.problem().catch(() => null);
  if (wrong) throw new TilewardenError('config-invalid', wrong);
  const doubt = createDoubts({ clock, log });
  /** Removes a tile from the index whose object is missing or damaged, so that it is made again. The object is left. */
  const discard = async (set: TileSetKey, tile: TileIndex, object: number) => {
    const problem = await sentinel.problem();
    if (problem) throw new TilewardenError('store-failed', problem);
    doubt();
    const { set: id, rows } = await index.slice(set, tile.z, rectOfTile(tile), FIRST_PACK, 1);
    const slot = slotOf(tile.x, tile.y);
    if (id === null) return;
    await writer.change(
      { id, set, z: tile.z },
      rows,
      (tiles) => {
        const left = tiles.filter((one) => one.slot !== slot || one.segment !== object);
        return left.length === tiles.length ? tiles : left;
      },
      { ...UNCONDITIONAL, leavesObjects: true },
    );
  };
  const tier = cache && copies ? new DiskTier({ copies, size: sizeOf(cache.size), clock, log }) : null;
  const outage = tools.outage ?? { isAway: () => false, mayShow: async () => false };
  const readTile = createPackReader({ index, bytes, log, discard, tier, outage });
  const sweeper = new PackSweeper({
    ...tools,
    database,
    bucket,
    bytes,
    prefix,
    index,
    listsAll: sentinel.listsAll,
    requestsPerSecond: options.sweepRequestsPerSecond,
  });

  const read = (set: TileSetKey, z: number, rect: TileRect, after: PackCursor) =>
    index.slice(set, z, rect, after, PACKS_IN_A_TURN);

  /** As `Store.edit`, for a slice; also returns where to continue. */
  async function editSlice(set: TileSetKey, z: number, rect: TileRect, edit: TileEdit, after: PackCursor) {
    const { set: id, rows, next } = await read(set, z, rect, after);
    if (id === null) return { ...NO_CHANGE, next };
    // By pack, because `writer.change` edits packs again that another writer has changed in the meantime.
    const selected = new Map<string, StoreChange>();
    const fence = edit.type === 'confirm' ? { ticket: edit.ticket, rect } : null;
    const changed = await writer.change(
      { id, set, z },
      rows,
      (tiles, pack) => {
        const result = editTiles(tiles, pack, rect, edit);
        selected.set(`${pack.x} ${pack.y}`, result.selected);
        return result.tiles;
      },
      { ...UNCONDITIONAL, changedAt: clock.now(), fence },
    );
    return { ...(changed ? sumOfChanges(selected.values()) : NO_CHANGE), next };
  }

  return {
    get: (set, tile, beside = () => {}) => readTile(set, tile, beside),
    put: (set, z, tiles, ticket, lease = null) => writer.put(set, z, tiles, ticket, lease),
    list: (set, z, rect = WHOLE_LEVEL) =>
      eachSlice(FIRST_PACK, async (after) => {
        const { set: id, rows, next } = await read(set, z, rect, after);
        return { items: rows.flatMap((row) => entriesIn(row, id ?? 0, z, rect, row.marks)), next };
      }),
    async edit(set, z, rect, edit, signal) {
      signal?.throwIfAborted();
      if (edit.type === 'use') return { tiles: await pages.use(set, z, edit.pages), bytes: 0 };
      return editSlices(signal, (after) => editSlice(set, z, rect, edit, after));
    },
    async drop(layer, set) {
      await index.drop(layer, set, clock.now());
      sweeper.wake();
    },
    ticket: markIndex.ticket,
    mark: markIndex.change,
    marks: ((of: string | number = 0, place?: TilePlace) =>
      typeof of === 'string' ? markIndex.generation(of, place) : markIndex.open(of)) as Store['marks'],
    usage: ((of?: string | PageFilter | EvictionOrder) =>
      typeof of === 'object' ? pages.pages(of) : pages.usage(of)) as Store['usage'],
    async close() {
      await sweeper.close();
      await tier?.close();
      bucket.close();
    },

    async changesSince(since) {
      const read = await pages.changesSince(since);
      tier?.forget(read.changes);
      return read;
    },
    takeRequests: () => bucket.counters.take(),
    files: createObjectFiles(bucket, prefix),
  };
}

/** Throws `config-invalid` unless the database is PostgreSQL: the index of packs needs features that SQLite lacks. */
export function postgresOf(
  { type }: { readonly type: string },
  { name, database }: Pick<StoreTools, 'name' | 'database'>,
): Database {
  if (database.dialect === 'postgres') return database;
  const message = `The store ${name} has the type ${type}, which keeps its index in PostgreSQL: set database to a postgres:// URL.`;
  throw new TilewardenError('config-invalid', message);
}
