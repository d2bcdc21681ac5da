import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { TilewardenError } from '../../domain/errors.ts';
import type { MetatileSize } from '../../domain/metatile.ts';
import { BLOCK_SIZE, type TileSetKey } from '../../domain/tile-key.ts';
import {
  blockAt,
  intersectRects,
  packedTouch,
  rectContains,
  rectOfTile,
  sizeOfRect,
  type TileRect,
} from '../../domain/tile-rect.ts';
import { sizeOf } from '../../lib/size.ts';
import type { StoreTools } from '../store-driver.ts';
import {
  outdatedSince,
  type StoreChange,
  sumOfChanges,
  type TileLimits,
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
import { type Conditions, NOTHING, PackWriter, UNCONDITIONAL } from './pack-writer.ts';
import { PageIndex, readPackNews } from './page-index.ts';
import { type PackEdit, type PlacedTile, tilesOf } from './plan-pack-change.ts';
import { createSentinel, Doubts } from './sentinel.ts';

export interface PackStoreTools extends Omit<StoreTools, 'root' | 'readOnly' | 'openCopies'> {
  readonly openBucket: () => Promise<ObjectStore>;
  /** Where copies of tiles are kept if the options ask for it. */
  readonly copies?: TileStore | null;
}

/** Packs read concurrently. */
const SLICE = 500;

/** Tiles that are read from the index, or whose change is planned, in one turn of the event loop: some milliseconds. */
export const TILES_IN_A_TURN = 512;

/** Packs of tiles as objects, listed in PostgreSQL: what the index does not list is not there. */
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
  const doubts = new Doubts(clock, log);
  /** An object is missing or damaged: its tile is made again. The object itself is not touched. */
  const discard = async (set: TileSetKey, z: number, tile: PlacedTile) => {
    const problem = await sentinel.problem();
    if (problem) throw new TilewardenError('store-failed', problem);
    doubts.add();
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

  /** `edit` is asked for each tile of `rect`; null removes it. */
  async function editWithin(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    edit: (tile: PlacedTile) => PlacedTile | null,
    conditions: Conditions = UNCONDITIONAL,
  ): Promise<StoreChange> {
    const answer = await index.within(set, z, rect);
    if (!answer) return NOTHING;
    const { found, rows } = answer;
    const editPack: PackEdit = (_, tiles) =>
      tiles.flatMap((tile) => (rectContains(rect, tile.x, tile.y) ? (edit(tile) ?? []) : tile));
    const changes: (StoreChange | null)[] = [];
    for (const some of inSlices(found, rows)) {
      changes.push(await writer.change(set, found, z, some, editPack, conditions));
    }
    return sumOfChanges(changes);
  }

  /** As they are stored, or as readers see them. */
  async function tilesWithin(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    seen: 'stored' | 'shown',
  ): Promise<PlacedTile[]> {
    const answer = await index.within(set, z, rect);
    if (!answer) return [];
    const tiles: PlacedTile[] = [];
    for (const rows of inSlices(answer.found, answer.rows)) {
      for (const row of rows) tiles.push(...tilesOf(answer.found, row));
      await nextTurn();
    }
    const inside = tiles
      .filter(({ x, y }) => rectContains(rect, x, y))
      .sort((a, b) => a.y - b.y || a.x - b.x);
    if (seen === 'stored') return inside;
    return inside.flatMap((tile) => answer.marks.shown(set, { ...tile, z }, tile, tile.ticket) ?? []);
  }

  /** Where in `rect` there are tiles, in blocks of 128 × 128, with what the pages that it touches hold. */
  async function* partsOf(set: TileSetKey, z: number, rect: TileRect) {
    for await (const { x, y, tiles, bytes } of pages.blocksWithin(set, z, rect)) {
      const block = blockAt(x, y, BLOCK_SIZE);
      const part = intersectRects(block, rect);
      if (part) yield { part, whole: sizeOfRect(part) === sizeOfRect(block), tiles, bytes };
    }
  }

  async function drop(layer: string, set: TileSetKey | null): Promise<void> {
    await index.drop(layer, set, clock.now());
    sweeper.wake();
  }

  return {
    get: (set, tile, beside = () => {}) => reader.read(set, tile, beside),

    async present(set, z, rect, createdSince, freshAt = Number.NEGATIVE_INFINITY) {
      const tiles = await tilesWithin(set, z, rect, 'shown');
      return tiles
        .filter(
          ({ createdAt, freshUntil }) => createdAt >= createdSince && (freshUntil ?? Infinity) > freshAt,
        )
        .map(({ x, y }) => ({ z, x, y }));
    },

    async validatorOf(set, z, rect) {
      const tiles = await tilesWithin(set, z, rect, 'shown');
      const validator = tiles[0]?.validator ?? null;
      return tiles.length === sizeOfRect(rect) && tiles.every((tile) => tile.validator === validator)
        ? validator
        : null;
    },

    async markStale(set, z, rect, at, signal, limits) {
      const isMeant = meantBy(limits);
      let marked = 0;
      for await (const { part } of partsOf(set, z, rect)) {
        signal?.throwIfAborted();
        // An edit is asked again for tiles that another writer has changed in the meantime.
        const inPart = new Set<string>();
        await editWithin(set, z, part, (tile) => {
          if (!isMeant(tile)) return tile;
          inPart.add(`${tile.x} ${tile.y}`);
          const freshUntil = outdatedSince(tile.freshUntil, at);
          return freshUntil === tile.freshUntil ? tile : { ...tile, freshUntil };
        });
        marked += inPart.size;
      }
      return marked;
    },

    async confirm(set, z, rect, { createdAt, freshUntil, madeBy }, ticket) {
      const conditions = { ...UNCONDITIONAL, fence: { ticket, rect } };
      const confirmed = { createdAt, freshUntil, madeBy, ticket };
      const edit = (tile: PlacedTile) => (tile.ticket > ticket ? tile : { ...tile, ...confirmed });
      await editWithin(set, z, rect, edit, conditions);
    },

    putMany: (set, z, tiles, ticket, lease = null) => writer.put(set, z, tiles, ticket, lease),

    async deleteRange(set, z, rect, signal, limits) {
      const isMeant = meantBy(limits);
      signal?.throwIfAborted();
      const total = { tiles: 0, bytes: 0 };
      for await (const { part } of partsOf(set, z, rect)) {
        signal?.throwIfAborted();
        const change = await editWithin(set, z, part, (tile) => (isMeant(tile) ? null : tile));
        total.tiles += change.tiles;
        total.bytes += change.bytes;
      }
      return total;
    },

    async count(set, z, rect, createdBefore) {
      const total = { tiles: 0, bytes: 0 };
      for await (const { part, whole, ...block } of partsOf(set, z, rect)) {
        const counted =
          whole && createdBefore === undefined
            ? block
            : sumOf(await tilesWithin(set, z, part, 'stored'), createdBefore);
        total.tiles += counted.tiles;
        total.bytes += counted.bytes;
      }
      return total;
    },

    async *parts(set, z, rect) {
      for await (const { part } of partsOf(set, z, rect)) yield part;
    },

    dropTileSet: (set) => drop(set.layer, set),
    dropLayer: (layer) => drop(layer, null),
    sweeping: () => sweeper.statistics(),

    ticket: generations.ticket,
    generation: generations.read,
    raiseGeneration: generations.raise,
    openMarks: generations.openMarks,
    settleMark: generations.settleMark,

    async *layers() {
      yield* new Set((await pages.sets(null)).map(({ layer }) => layer));
    },
    async *tileSets(layer) {
      yield* await pages.sets(layer);
    },
    async *pages(set) {
      for await (const { z, x, y, tiles, bytes, writtenAt } of pages.pages(set)) {
        yield { set, z, pageX: x, pageY: y, tiles, bytes, writtenAt };
      }
    },
    async *tiles(set, z) {
      const found = await index.find(set);
      if (!found) return;
      for (let last = null; ; ) {
        const rows = await index.after(found.id, z, last, SLICE);
        for (const { x, y, length, createdAt } of rows.flatMap((row) => tilesOf(found, row))) {
          yield { z, x, y, bytes: length, createdAt };
        }
        last = rows.at(-1) ?? null;
        if (rows.length < SLICE) return;
      }
    },
    blocks: (since) => readPackBlocks(pages, since),
    pagesIn: (ids) => readPackPages(pages, ids),
    recount: (id) => recountBlock(index, pages, id),
    async news(since) {
      const told = await readPackNews(database, name, pages, since);
      tier?.forget(told.news);
      return told;
    },
    takeRequests: () => bucket.counters.take(),
    files: createObjectFiles(bucket, prefix),

    async close() {
      await sweeper.close();
      await tier?.close();
      bucket.close();
    },
  };
}

function meantBy({ createdBefore = Infinity, before = Infinity, within }: TileLimits = {}) {
  return ({ x, y, createdAt, ticket }: PlacedTile) =>
    createdAt < createdBefore && ticket < before && (!within || packedTouch(within, rectOfTile({ x, y })));
}

function* inSlices(
  { columns, rows }: MetatileSize,
  packs: readonly PackRow[],
): Generator<readonly PackRow[]> {
  const size = Math.ceil(TILES_IN_A_TURN / (columns * rows));
  for (let from = 0; from < packs.length; from += size) yield packs.slice(from, from + size);
}

function sumOf(tiles: readonly PlacedTile[], createdBefore = Number.POSITIVE_INFINITY): StoreChange {
  const counted = tiles.filter(({ createdAt }) => createdAt < createdBefore);
  return { tiles: counted.length, bytes: counted.reduce((sum, { length }) => sum + length, 0) };
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
