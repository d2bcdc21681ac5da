import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { MetatileSize } from '../../domain/metatile.ts';
import { BLOCK_SIZE, type TileSetKey } from '../../domain/tile-key.ts';
import {
  blockAt,
  intersectRects,
  rectContains,
  rectOfTile,
  type TileRect,
  WHOLE_LEVEL,
} from '../../domain/tile-rect.ts';
import { sizeOf } from '../../lib/size.ts';
import { derive } from '../derive.ts';
import { edited, isMeant } from '../edit-tile.ts';
import type { StoreTools } from '../store-driver.ts';
import {
  NO_CHANGE,
  type StoreChange,
  sumOfChanges,
  type TileEntry,
  type TilePart,
  type TileStore,
} from '../tile-store.ts';
import { DiskTier } from './disk-tier.ts';
import { createObjectFiles } from './object-files.ts';
import type { ObjectStore } from './object-store.ts';
import { readPackBlocks, readPackPages, recountBlock } from './pack-blocks.ts';
import { OBJECT_BYTES } from './pack-detail.ts';
import { createPackGenerations } from './pack-generations.ts';
import { PackIndex, type PackRow } from './pack-index.ts';
import { PackReader } from './pack-reader.ts';
import type { PackStoreOptions } from './pack-store-options.ts';
import { PackSweeper } from './pack-sweeper.ts';
import { type Conditions, PackWriter, UNCONDITIONAL } from './pack-writer.ts';
import { PageIndex, readPackChanges } from './page-index.ts';
import { type PackEdit, type PlacedTile, tilesOf } from './plan-pack-change.ts';
import { createDoubts, createSentinel } from './sentinel.ts';

export interface PackStoreTools extends Omit<StoreTools, 'root' | 'readOnly' | 'openCopies'> {
  readonly openBucket: () => Promise<ObjectStore>;
  /** For copies of tiles, with the option `cache`. */
  readonly copies?: TileStore | null;
}

/** Tiles that are read from the index, or whose change is planned, in one turn of the event loop: some milliseconds. */
export const TILES_IN_A_TURN = 512;

/** Packs of tiles as objects, listed in PostgreSQL: an unlisted object does not exist for readers. */
export async function openPackStore(
  options: PackStoreOptions & { readonly type: string },
  tools: PackStoreTools,
): Promise<TileStore> {
  const { name, shapeOf, clock, log } = tools;
  const database = postgresOf(options, tools);
  const { prefix } = options;
  const bucket = await tools.openBucket();
  const index = new PackIndex(database, name);
  const pages = new PageIndex(database, name);
  const generations = createPackGenerations(database, name, index);
  const randomObject = () => randomBytes(OBJECT_BYTES).readUIntBE(0, OBJECT_BYTES);
  const writer = new PackWriter({ index, bucket, prefix, clock, randomObject, shapeOf });
  const sentinel = createSentinel({ bucket, prefix, database, name, index });
  // An object store that does not answer now is no reason not to start.
  const wrong = await sentinel.problem().catch(() => null);
  if (wrong) throw new TilewardenError('config-invalid', wrong);
  const doubt = createDoubts({ clock, log });
  /** An object is missing or damaged: its tile is made again. The object itself is not touched. */
  const discard = async (set: TileSetKey, z: number, tile: PlacedTile) => {
    const problem = await sentinel.problem();
    if (problem) throw new TilewardenError('store-failed', problem);
    doubt();
    const edit = (one: PlacedTile) => (one.object === tile.object ? null : one);
    await editWithin(set, z, rectOfTile(tile), edit, { ...UNCONDITIONAL, leavesObjects: true });
  };
  const { copies } = tools;
  const { cache } = options;
  const tier = cache && copies ? new DiskTier({ copies, size: sizeOf(cache.size), clock, log }) : null;
  const outage = tools.outage ?? { isAway: () => false, mayShow: async () => false };
  const reader = new PackReader({ index, bucket, prefix, log, discard, tier, outage });
  const sweeper = new PackSweeper({
    ...tools,
    database,
    bucket,
    prefix,
    index,
    listsAll: sentinel.listsAll,
    requestsPerSecond: options.sweepRequestsPerSecond,
  });

  /** `edit` is called for each tile of `rect`; null removes it. */
  async function editWithin(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    edit: (tile: PlacedTile) => PlacedTile | null,
    conditions: Conditions = UNCONDITIONAL,
  ): Promise<StoreChange> {
    const answer = await index.within(set, z, rect);
    if (!answer) return NO_CHANGE;
    const { setRow, rows } = answer;
    const editPack: PackEdit = (_, tiles) =>
      tiles.flatMap((tile) => (rectContains(rect, tile.x, tile.y) ? (edit(tile) ?? []) : tile));
    const changes: (StoreChange | null)[] = [];
    for (const some of inSlices(setRow, rows)) {
      changes.push(await writer.change(set, setRow, z, some, editPack, conditions));
    }
    return sumOfChanges(changes);
  }

  /** Of at most 128 × 128 tiles. */
  async function* tilesWithin(
    set: TileSetKey,
    z: number,
    rect: TileRect,
  ): AsyncGenerator<readonly TileEntry[]> {
    const answer = await index.within(set, z, rect);
    if (!answer) return;
    for (const rows of inSlices(answer.setRow, answer.rows)) {
      const tiles = rows.flatMap((row) => tilesOf(answer.setRow, row));
      const inside = tiles.filter(({ x, y }) => rectContains(rect, x, y));
      yield inside.map((tile) => {
        const { x, y, length: bytes, createdAt, validator, ticket } = tile;
        const shown = answer.marks.shown(set, { z, x, y }, tile, ticket);
        const { freshUntil } = shown ?? tile;
        return { z, x, y, bytes, createdAt, freshUntil, validator, hidden: !shown };
      });
      await nextTurn();
    }
  }

  /** The non-empty blocks of 128 × 128 tiles in `rect`, with the sums of the touched pages. */
  async function* parts(set: TileSetKey, z: number, rect: TileRect): AsyncGenerator<TilePart> {
    for await (const { x, y, tiles, bytes } of pages.blocksWithin(set, z, rect)) {
      const part = intersectRects(blockAt(x, y, BLOCK_SIZE), rect);
      if (part) yield { rect: part, tiles, bytes };
    }
  }

  /** The same, unless it is small enough to be read as a whole. */
  const slices = (set: TileSetKey, z: number, rect: TileRect) =>
    Math.max(rect.maxX - rect.minX, rect.maxY - rect.minY) < BLOCK_SIZE ? [{ rect }] : parts(set, z, rect);

  async function drop(layer: string, set: TileSetKey | null): Promise<void> {
    await index.drop(layer, set, clock.now());
    sweeper.wake();
  }

  return derive({
    get: (set, tile, beside = () => {}) => reader.read(set, tile, beside),
    putMany: (set, z, tiles, ticket, lease = null) => writer.put(set, z, tiles, ticket, lease),
    async *list(set, z, rect = WHOLE_LEVEL) {
      for await (const part of slices(set, z, rect)) yield* tilesWithin(set, z, part.rect);
    },

    async edit(set, z, rect, edit, signal) {
      signal?.throwIfAborted();
      const fence = edit.type === 'confirm' ? { ticket: edit.ticket, rect } : null;
      const total = { tiles: 0, bytes: 0 };
      for await (const part of slices(set, z, rect)) {
        signal?.throwIfAborted();
        // `edit` is called again for tiles that another writer has changed in the meantime.
        const meant = new Set<string>();
        const change = (tile: PlacedTile) => {
          if (!isMeant(tile, edit)) return tile;
          meant.add(`${tile.x} ${tile.y}`);
          return edited(tile, edit);
        };
        const { tiles, bytes } = await editWithin(set, z, part.rect, change, { ...UNCONDITIONAL, fence });
        total.tiles += edit.type === 'remove' ? 0 - tiles : meant.size;
        total.bytes -= bytes;
      }
      return total;
    },

    async *tileSets(layer) {
      yield* await pages.sets(layer);
    },
    ticket: generations.ticket,
    raiseGeneration: generations.raise,
    openMarks: generations.openMarks,
    closeMark: generations.closeMark,
    async close() {
      await sweeper.close();
      await tier?.close();
      bucket.close();
    },

    generation: generations.read,
    drop,
    sweeping: () => sweeper.statistics(),
    parts,
    async *pages(set) {
      for await (const { z, x, y, tiles, bytes, writtenAt } of pages.pages(set)) {
        yield { set, z, pageX: x, pageY: y, tiles, bytes, writtenAt };
      }
    },
    blocks: (since) => readPackBlocks(pages, since),
    pagesIn: (ids) => readPackPages(pages, ids),
    recount: (id) => recountBlock(index, pages, id),
    async changesSince(since) {
      const read = await readPackChanges(database, name, pages, since);
      tier?.forget(read.changes);
      return read;
    },
    takeRequests: () => bucket.counters.take(),
    files: createObjectFiles(bucket, prefix),
  });
}

function* inSlices(
  { columns, rows }: MetatileSize,
  packs: readonly PackRow[],
): Generator<readonly PackRow[]> {
  const size = Math.ceil(TILES_IN_A_TURN / (columns * rows));
  for (let from = 0; from < packs.length; from += size) yield packs.slice(from, from + size);
}

/** The index of packs needs what SQLite does not have. */
export function postgresOf(
  { type }: { readonly type: string },
  { name, database }: Pick<StoreTools, 'name' | 'database'>,
): Database {
  if (database?.dialect === 'postgres') return database;
  const message = `The store ${name} has the type ${type}, which keeps its index in PostgreSQL: set database to a postgres:// URL.`;
  throw new TilewardenError('config-invalid', message);
}
