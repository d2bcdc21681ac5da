import { crc32 } from 'node:zlib';
import { TilewardenError } from '../../domain/errors.ts';
import { pageOf, type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import {
  blockAt,
  intersectRects,
  rectAround,
  rectContains,
  sizeOfRect,
  type TileRect,
  tilesOfRect,
} from '../../domain/tile-rect.ts';
import { getOrMake } from '../../lib/get-or-make.ts';
import { OpenMarks } from '../open-marks.ts';
import { maskOf, numberInBlock } from '../page-mask.ts';
import {
  type BlockContent,
  MARKS_KEPT,
  NO_CHANGE,
  negated,
  type OpenMark,
  outdatedSince,
  type PageStatistics,
  type StoreBlock,
  type StoreChange,
  type StoredTile,
  sumOfChanges,
  type TileLimits,
  type TilePlace,
  type TileStore,
  type TileWrite,
} from '../tile-store.ts';
import type { MemoryStoreOptions } from './memory-store-options.ts';

interface MemoryTile extends StoredTile {
  readonly x: number;
  readonly y: number;
  readonly validator: string | null;
  readonly ticket: number;
}

/** One zoom of one tile set, by `x,y`. */
type Level = Map<string, MemoryTile>;

interface MemoryTileSet {
  readonly key: TileSetKey;
  readonly levels: Map<number, Level>;
}

interface LayerGenerations {
  readonly number: number;
  /** Of every place. */
  readonly floor: number;
  readonly marks: readonly { readonly number: number; readonly place: TilePlace }[];
}

const NEVER_RAISED: LayerGenerations = { number: 0, floor: 0, marks: [] };
/** Tiles along the side of a part. */
const PART = 128;

export function createMemoryStore(options: MemoryStoreOptions): TileStore {
  const maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
  const sets = new Map<string, MemoryTileSet>();
  const generations = new Map<string, LayerGenerations>();
  const openMarks = new Map<number, OpenMark>();
  let marks = new OpenMarks([]);
  let usedBytes = 0;
  let lastTicket = 0;

  const marksChanged = () => {
    marks = new OpenMarks(openMarks.values());
  };
  const shownWithin = (set: TileSetKey, z: number, rect: TileRect) =>
    tilesWithin(levelOf(set, z), rect).flatMap(
      (tile) => marks.shown(set, { ...tile, z }, tile, tile.ticket) ?? [],
    );

  const levelOf = (set: TileSetKey, z: number) => sets.get(tileSetId(set))?.levels.get(z);

  function levelForWriting(key: TileSetKey, z: number): Level {
    const set = getOrMake(sets, tileSetId(key), () => ({ key, levels: new Map<number, Level>() }));
    return getOrMake(set.levels, z, () => new Map());
  }

  function forgetIfEmpty(key: TileSetKey, z: number): void {
    const set = sets.get(tileSetId(key));
    if (set?.levels.get(z)?.size === 0) set.levels.delete(z);
    if (set?.levels.size === 0) sets.delete(tileSetId(key));
  }

  function generationOf(layer: string, place?: TilePlace): number {
    const known = generations.get(layer) ?? NEVER_RAISED;
    return place ? latestAt(known, place) : known.number;
  }

  function checkGeneration({ layer, gridSet }: TileSetKey, z: number, rect: TileRect | null, noted: number) {
    const place = rect ? { gridSet, z, rect } : undefined;
    if (generationOf(layer, place) <= noted) return;
    throw new TilewardenError('generation-stale', `Layer ${layer} was truncated since this was fetched.`);
  }

  function replaceWithin(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    change: (tile: MemoryTile) => MemoryTile,
    limits?: TileLimits,
  ): number {
    const level = levelOf(set, z);
    const tiles = tilesWithin(level, rect, limits);
    for (const tile of tiles) level?.set(placeOf(tile.x, tile.y), change(tile));
    return tiles.length;
  }

  function dropWhere(matches: (key: TileSetKey) => boolean): void {
    for (const [id, set] of sets) {
      if (!matches(set.key)) continue;
      for (const level of set.levels.values()) usedBytes -= sumOf(level.values()).bytes;
      sets.delete(id);
    }
  }

  return {
    async get(set, tile) {
      const stored = levelOf(set, tile.z)?.get(placeOf(tile.x, tile.y));
      const found = stored && marks.shown(set, tile, stored, stored.ticket);
      if (!found) return null;
      const { bytes, createdAt, checksum, freshUntil, madeBy } = found;
      return { bytes, createdAt, checksum, freshUntil, madeBy };
    },

    async present(set, z, rect, createdSince, freshAt = Number.NEGATIVE_INFINITY) {
      const tiles = shownWithin(set, z, rect).filter(
        ({ createdAt, freshUntil }) => createdAt >= createdSince && (freshUntil ?? Infinity) > freshAt,
      );
      return tiles.sort((a, b) => a.y - b.y || a.x - b.x).map(({ x, y }) => ({ z, x, y }));
    },

    async validatorOf(set, z, rect) {
      const tiles = shownWithin(set, z, rect);
      const validator = tiles[0]?.validator ?? null;
      return tiles.length === sizeOfRect(rect) && tiles.every((tile) => tile.validator === validator)
        ? validator
        : null;
    },

    async markStale(set, z, rect, at, signal, limits) {
      signal?.throwIfAborted();
      const stale = (tile: MemoryTile) => ({ ...tile, freshUntil: outdatedSince(tile.freshUntil, at) });
      return replaceWithin(set, z, rect, stale, limits);
    },

    async confirm(set, z, rect, { createdAt, freshUntil, madeBy }, ticket) {
      checkGeneration(set, z, rect, ticket);
      const confirmed = { createdAt, freshUntil, madeBy, ticket };
      replaceWithin(set, z, rect, (tile) => ({ ...tile, ...confirmed }), { before: ticket + 1 });
    },

    async putMany(set, z, tiles, ticket) {
      checkGeneration(set, z, rectAround(tiles), ticket);
      const former = levelOf(set, z);
      const timely = tiles.filter(({ x, y }) => (former?.get(placeOf(x, y))?.ticket ?? 0) <= ticket);
      const batch = new Map(timely.map((tile) => [placeOf(tile.x, tile.y), keep(tile, ticket)]));
      const change = changeOf(levelOf(set, z), batch);
      if (usedBytes + change.bytes > maxBytes)
        throw new TilewardenError('store-full', 'The memory store is full.');
      if (batch.size === 0) return NO_CHANGE;
      const level = levelForWriting(set, z);
      for (const [place, tile] of batch) level.set(place, tile);
      usedBytes += change.bytes;
      return change;
    },

    async deleteRange(set, z, rect, signal, limits) {
      signal?.throwIfAborted();
      const level = levelOf(set, z);
      const doomed = tilesWithin(level, rect, limits);
      for (const tile of doomed) level?.delete(placeOf(tile.x, tile.y));
      forgetIfEmpty(set, z);
      const change = sumOf(doomed);
      usedBytes -= change.bytes;
      return negated(change);
    },

    async count(set, z, rect, createdBefore) {
      return sumOf(tilesWithin(levelOf(set, z), rect, { createdBefore }));
    },
    async *parts(set, z, rect) {
      const blocks = tilesWithin(levelOf(set, z), rect).map(({ x, y }) =>
        blockAt(Math.floor(x / PART), Math.floor(y / PART), PART),
      );
      for (const block of new Map(blocks.map((one) => [placeOf(one.minX, one.minY), one])).values()) {
        const part = intersectRects(block, rect);
        if (part) yield part;
      }
    },

    async dropTileSet(set) {
      dropWhere((key) => tileSetId(key) === tileSetId(set));
    },
    async dropLayer(layer) {
      dropWhere((key) => key.layer === layer);
    },
    async sweeping() {
      return { files: 0, bytes: 0 };
    },

    async ticket(layer, place) {
      return { number: ++lastTicket, generation: generationOf(layer, place) };
    },
    async generation(layer, place) {
      return generationOf(layer, place);
    },
    async raiseGeneration(layer, places, effect) {
      const known = generations.get(layer) ?? NEVER_RAISED;
      const number = ++lastTicket;
      const raised = [...known.marks, ...(places ?? []).map((place) => ({ number, place }))];
      const raises = [...new Set(raised.map((mark) => mark.number))];
      const floor = places ? Math.max(known.floor, raises.at(-MARKS_KEPT - 1) ?? 0) : number;
      generations.set(layer, { number, floor, marks: raised.filter((mark) => mark.number > floor) });
      if (effect) openMarks.set(number, { layer, number, effect, places: places ?? null });
      if (effect) marksChanged();
      return number;
    },
    async openMarks() {
      return [...openMarks.values()];
    },
    async settleMark(_, number) {
      openMarks.delete(number);
      marksChanged();
    },

    async *layers() {
      yield* new Set([...sets.values()].map((set) => set.key.layer));
    },
    async *tileSets(layer) {
      yield* [...sets.values()].map((set) => set.key).filter((key) => key.layer === layer);
    },
    async *pages(set) {
      const levels = [...(sets.get(tileSetId(set))?.levels ?? [])];
      for (const [z, level] of levels) yield* pagesOf(set, z, level);
    },
    async *tiles(set, z) {
      yield* [...(levelOf(set, z)?.values() ?? [])].map(({ x, y, bytes, createdAt }) => ({
        z,
        x,
        y,
        bytes: bytes.length,
        createdAt,
      }));
    },

    async blocks() {
      return { blocks: blocksOf(sets), complete: true, cursor: 0 };
    },
    async pagesIn(ids) {
      const wanted = levelsByBlock(sets).filter(({ id }) => ids.includes(id));
      return new Map(wanted.map(({ id, set, z, level }) => [id, [...pagesOf(set, z, level)]]));
    },

    async close() {
      sets.clear();
    },
  };
}

async function* blocksOf(sets: ReadonlyMap<string, MemoryTileSet>): AsyncGenerator<StoreBlock> {
  for (const { id, set, z, x, y, level } of levelsByBlock(sets)) {
    const { tiles, bytes } = sumOf(level.values());
    const mask = maskOf(Array.from(pagesOf(set, z, level), numberInBlock));
    const changedAt = latestOf(level.values());
    yield { id, content: { set, z, x, y, mask, tiles, bytes, diskBytes: bytes, changedAt } };
  }
}

interface MemoryBlock extends Pick<BlockContent, 'set' | 'z' | 'x' | 'y'> {
  readonly id: string;
  readonly level: Map<string, MemoryTile>;
}

function levelsByBlock(sets: ReadonlyMap<string, MemoryTileSet>): readonly MemoryBlock[] {
  const blocks = new Map<string, MemoryBlock>();
  for (const [name, { key: set, levels }] of sets) {
    for (const [z, level] of levels) {
      for (const [place, tile] of level) {
        const [x, y] = [Math.floor(tile.x / PART), Math.floor(tile.y / PART)];
        const id = `${name} ${z} ${placeOf(x, y)}`;
        getOrMake(blocks, id, () => ({ id, set, z, x, y, level: new Map() })).level.set(place, tile);
      }
    }
  }
  return [...blocks.values()];
}

function placeOf(x: number, y: number): string {
  return `${x},${y}`;
}

function keep(
  { freshUntil = null, validator = null, madeBy = null, ...tile }: TileWrite,
  ticket: number,
): MemoryTile {
  const bytes = Buffer.from(tile.bytes);
  return { ...tile, bytes, freshUntil, validator, madeBy, ticket, checksum: crc32(bytes) };
}

function latestAt({ floor, marks }: LayerGenerations, { gridSet, z, rect }: TilePlace): number {
  const here = marks.filter(
    ({ place }) => place.gridSet === gridSet && place.z === z && intersectRects(place.rect, rect) !== null,
  );
  return here.reduce((latest, { number }) => Math.max(latest, number), floor);
}

function tilesWithin(
  level: Level | undefined,
  rect: TileRect,
  { createdBefore = Infinity, before = Infinity, within }: TileLimits = {},
): MemoryTile[] {
  if (!level) return [];
  const tiles =
    sizeOfRect(rect) < level.size
      ? tilesOfRect(0, rect).flatMap(({ x, y }) => level.get(placeOf(x, y)) ?? [])
      : [...level.values()];
  return tiles.filter(
    ({ x, y, createdAt, ticket }) =>
      rectContains(rect, x, y) &&
      createdAt < createdBefore &&
      ticket < before &&
      (within?.some((part) => rectContains(part, x, y)) ?? true),
  );
}

function changeOf(level: Level | undefined, batch: Level): StoreChange {
  const replaced = sumOf([...batch.keys()].flatMap((place) => level?.get(place) ?? []));
  return sumOfChanges([sumOf(batch.values()), negated(replaced)]);
}

function sumOf(tiles: Iterable<MemoryTile>): StoreChange {
  return sumOfChanges(Array.from(tiles, ({ bytes }) => ({ tiles: 1, bytes: bytes.length })));
}

function latestOf(tiles: Iterable<MemoryTile>): number {
  let latest = 0;
  for (const tile of tiles) latest = Math.max(latest, tile.createdAt);
  return latest;
}

function pagesOf(set: TileSetKey, z: number, level: Level): Iterable<PageStatistics> {
  const pages = new Map<string, PageStatistics>();
  for (const tile of level.values()) {
    const [pageX, pageY] = [pageOf(tile.x), pageOf(tile.y)];
    const known = pages.get(placeOf(pageX, pageY));
    const counted = sumOfChanges([known, { tiles: 1, bytes: tile.bytes.length }]);
    const writtenAt = Math.max(known?.writtenAt ?? 0, tile.createdAt);
    pages.set(placeOf(pageX, pageY), { set, z, pageX, pageY, ...counted, writtenAt });
  }
  return pages.values();
}
