import { crc32 } from 'node:zlib';
import { TilewardenError } from '../../domain/errors.ts';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import {
  intersectRects,
  rectAround,
  rectContains,
  sizeOfRect,
  type TileRect,
  tilesOfRect,
  WHOLE_LEVEL,
} from '../../domain/tile-rect.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { derive } from '../derive.ts';
import { edited, isMeant } from '../edit-tile.ts';
import { OpenMarks } from '../open-marks.ts';
import {
  MARKS_KEPT,
  NO_CHANGE,
  negated,
  type OpenMark,
  type StoreChange,
  type StoredTile,
  sumOfChanges,
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

  const levelOf = (set: TileSetKey, z: number) => sets.get(tileSetId(set))?.levels.get(z);

  function levelForWriting(key: TileSetKey, z: number): Level {
    const set = getOrCreate(sets, tileSetId(key), () => ({ key, levels: new Map<number, Level>() }));
    return getOrCreate(set.levels, z, () => new Map());
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

  return derive({
    async get(set, tile) {
      const stored = levelOf(set, tile.z)?.get(tileText(tile.x, tile.y));
      const found = stored && marks.shown(set, tile, stored, stored.ticket);
      if (!found) return null;
      const { bytes, createdAt, checksum, freshUntil, madeBy } = found;
      return { bytes, createdAt, checksum, freshUntil, madeBy };
    },

    async putMany(set, z, tiles, ticket) {
      checkGeneration(set, z, rectAround(tiles), ticket);
      const former = levelOf(set, z);
      const timely = tiles.filter(({ x, y }) => (former?.get(tileText(x, y))?.ticket ?? 0) <= ticket);
      const batch = new Map(timely.map((tile) => [tileText(tile.x, tile.y), keep(tile, ticket)]));
      const change = changeOf(levelOf(set, z), batch);
      if (usedBytes + change.bytes > maxBytes)
        throw new TilewardenError('store-full', 'The memory store is full.');
      if (batch.size === 0) return NO_CHANGE;
      const level = levelForWriting(set, z);
      for (const [place, tile] of batch) level.set(place, tile);
      usedBytes += change.bytes;
      return change;
    },

    async *list(set, z, rect = WHOLE_LEVEL) {
      yield tilesWithin(levelOf(set, z), rect).map((tile) => {
        const { x, y, bytes, createdAt, validator } = tile;
        const shown = marks.shown(set, { z, x, y }, tile, tile.ticket);
        const { freshUntil } = shown ?? tile;
        return { z, x, y, bytes: bytes.length, createdAt, freshUntil, validator, hidden: !shown };
      });
    },

    async edit(set, z, rect, edit, signal) {
      signal?.throwIfAborted();
      if (edit.type === 'confirm') checkGeneration(set, z, rect, edit.ticket);
      const level = levelOf(set, z);
      const meant = tilesWithin(level, rect).filter((tile) => isMeant(tile, edit));
      for (const tile of meant) {
        const next = edited(tile, edit);
        if (next) level?.set(tileText(tile.x, tile.y), next);
        else level?.delete(tileText(tile.x, tile.y));
      }
      if (edit.type !== 'remove') return { tiles: meant.length, bytes: 0 };
      forgetIfEmpty(set, z);
      const removed = sumOf(meant);
      usedBytes -= removed.bytes;
      return removed;
    },

    async *tileSets(layer) {
      yield* [...sets.values()].map((set) => set.key).filter((key) => layer === null || key.layer === layer);
    },

    async ticket(layer, place) {
      return { number: ++lastTicket, generation: generationOf(layer, place) };
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
    async closeMark(_, number) {
      openMarks.delete(number);
      marksChanged();
    },

    async close() {
      sets.clear();
    },
  });
}

function tileText(x: number, y: number): string {
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

function tilesWithin(level: Level | undefined, rect: TileRect): MemoryTile[] {
  if (!level) return [];
  if (sizeOfRect(rect) >= level.size)
    return [...level.values()].filter(({ x, y }) => rectContains(rect, x, y));
  return tilesOfRect(0, rect).flatMap(({ x, y }) => level.get(tileText(x, y)) ?? []);
}

function changeOf(level: Level | undefined, batch: Level): StoreChange {
  const replaced = sumOf([...batch.keys()].flatMap((place) => level?.get(place) ?? []));
  return sumOfChanges([sumOf(batch.values()), negated(replaced)]);
}

function sumOf(tiles: Iterable<MemoryTile>): StoreChange {
  return sumOfChanges(Array.from(tiles, ({ bytes }) => ({ tiles: 1, bytes: bytes.length })));
}
