import { MAX_CLOCK_LEAD_MS } from '../domain/layer.ts';
import {
  BLOCK_SIZE,
  PAGE_SIZE,
  pageOf,
  type TileIndex,
  type TileSetKey,
  tileSetId,
} from '../domain/tile-key.ts';
import { blockAt, intersectRects, sizeOfRect, type TileRect } from '../domain/tile-rect.ts';
import {
  type EvictionOrder,
  NO_CHANGE,
  type PageFilter,
  type PageUsage,
  type Store,
  type StoreChange,
  type StoredTile,
  sumOfChanges,
  type TileEntry,
  type TilePlace,
} from './store.ts';

/** Tile sets with tiles, of a layer or (null) of all layers, declared or not. */
export async function tileSetsIn(
  store: Pick<Store, 'usage'>,
  layer: string | null,
): Promise<readonly TileSetKey[]> {
  const { levels } = await store.usage(layer ?? undefined);
  return [...new Map(levels.map(({ set }) => [tileSetId(set), set])).values()];
}

/** Layers with tiles, declared or not. */
export async function layersIn(store: Pick<Store, 'usage'>): Promise<readonly string[]> {
  const { levels } = await store.usage();
  return [...new Set(levels.map(({ set }) => set.layer))];
}

/** `Store.usage` of pages, one by one. */
export async function* pagesIn(
  store: Pick<Store, 'usage'>,
  which: PageFilter | EvictionOrder,
): AsyncGenerator<PageUsage, undefined> {
  for await (const pages of store.usage(which)) yield* pages;
}

/** Blocks of 128 × 128 tiles that have tiles in `rect`, with the sums of the pages that it touches. */
export async function partsIn(
  store: Pick<Store, 'usage'>,
  set: TileSetKey,
  z: number,
  rect: TileRect,
): Promise<readonly (StoreChange & { readonly rect: TileRect })[]> {
  const blocks = new Map<string, StoreChange & { readonly rect: TileRect }>();
  for await (const page of pagesIn(store, { set, z, rect })) {
    const [x, y] = [blockOf(page.pageX), blockOf(page.pageY)];
    const block = blockAt(x, y, BLOCK_SIZE);
    const known = blocks.get(`${x} ${y}`);
    blocks.set(`${x} ${y}`, { rect: intersectRects(block, rect) ?? block, ...sumOfChanges([known, page]) });
  }
  return [...blocks.values()];
}

function blockOf(page: number): number {
  return Math.floor((page * PAGE_SIZE) / BLOCK_SIZE);
}

/** The sums of a tile set. */
export async function amountInSet(store: Pick<Store, 'usage'>, set: TileSetKey): Promise<StoreChange> {
  const { levels } = await store.usage(set.layer);
  return sumOfChanges(levels.filter((level) => tileSetId(level.set) === tileSetId(set)));
}

/** Reads synchronously from a local store. Undefined if that is impossible or failed: call `get`. */
export function readNow(store: Store, set: TileSetKey, tile: TileIndex): StoredTile | null | undefined {
  if (!store.isLocal) return undefined;
  try {
    const found = store.get(set, tile);
    return found instanceof Promise ? void found.catch(() => null) : found;
  } catch {
    return undefined;
  }
}

/** Tiles visible to readers, row by row. `rect` is at most 128 × 128 tiles. */
export async function shownTiles(
  store: Pick<Store, 'list'>,
  set: TileSetKey,
  z: number,
  rect: TileRect,
): Promise<readonly TileEntry[]> {
  const shown: TileEntry[] = [];
  for await (const tiles of store.list(set, z, rect)) shown.push(...tiles.filter(({ hidden }) => !hidden));
  return shown.sort((a, b) => a.y - b.y || a.x - b.x);
}

/** Visible tiles that were created at `createdSince` or later and, if `freshAt` is given, are fresh then. */
export async function presentTiles(
  store: Pick<Store, 'list'>,
  set: TileSetKey,
  z: number,
  rect: TileRect,
  createdSince: number,
  freshAt?: number,
): Promise<readonly TileIndex[]> {
  const shown = await shownTiles(store, set, z, rect);
  const latest = (freshAt ?? Infinity) + MAX_CLOCK_LEAD_MS;
  const isFresh = ({ createdAt, freshUntil }: TileEntry) =>
    createdAt >= createdSince && createdAt <= latest && (freshUntil ?? Infinity) > (freshAt ?? -Infinity);
  return shown.filter(isFresh).map(({ x, y }) => ({ z, x, y }));
}

/** The common validator of all tiles of `rect`; null if a tile is missing or has another one. */
export async function validatorOf(
  store: Pick<Store, 'list'>,
  set: TileSetKey,
  z: number,
  rect: TileRect,
): Promise<string | null> {
  const shown = await shownTiles(store, set, z, rect);
  const validator = shown[0]?.validator ?? null;
  const same = shown.every((tile) => tile.validator === validator);
  return same && shown.length === sizeOfRect(rect) ? validator : null;
}

/** Sums of stored tiles in `rect`, created before `createdBefore`. Without that, whole pages need no list. */
export async function countStored(
  store: Pick<Store, 'list' | 'usage'>,
  set: TileSetKey,
  z: number,
  rect: TileRect,
  createdBefore = Infinity,
): Promise<StoreChange> {
  let total = NO_CHANGE;
  for await (const page of pagesIn(store, { set, z, rect })) {
    const whole = blockAt(page.pageX, page.pageY, PAGE_SIZE);
    const part = intersectRects(whole, rect) ?? whole;
    const isCounted = createdBefore === Infinity && sizeOfRect(part) === sizeOfRect(whole);
    total = sumOfChanges([total, isCounted ? page : await amountOf(store.list(set, z, part), createdBefore)]);
  }
  return total;
}

/** All readable tiles of the page that contains this place, row by row. */
export async function readPage(
  store: Pick<Store, 'list' | 'get'>,
  set: TileSetKey,
  { z, x, y }: TileIndex,
): Promise<readonly (TileIndex & StoredTile)[]> {
  const places = await shownTiles(store, set, z, blockAt(pageOf(x), pageOf(y), PAGE_SIZE));
  const found = new Map<string, StoredTile | null>();
  for (const place of places) {
    const beside = (other: TileIndex, stored: StoredTile) => found.set(`${other.x} ${other.y}`, stored);
    const name = `${place.x} ${place.y}`;
    if (!found.has(name)) found.set(name, await store.get(set, { z, x: place.x, y: place.y }, beside));
  }
  return places.flatMap((place) => {
    const stored = found.get(`${place.x} ${place.y}`);
    return stored ? [{ z, x: place.x, y: place.y, ...stored }] : [];
  });
}

async function amountOf(
  slices: AsyncIterable<readonly TileEntry[]>,
  createdBefore: number,
): Promise<StoreChange> {
  const sum = { tiles: 0, bytes: 0 };
  for await (const tiles of slices) {
    for (const { createdAt, bytes } of tiles) {
      if (createdAt >= createdBefore) continue;
      sum.tiles += 1;
      sum.bytes += bytes;
    }
  }
  return sum;
}

/** A string that changes when tiles of these places are truncated, or the tile set gets another incarnation. */
export async function tilesSince(
  store: Pick<Store, 'marks'>,
  set: TileSetKey,
  levels: readonly Omit<TilePlace, 'gridSet'>[],
): Promise<string> {
  const places = levels.map(({ z, rect }) => ({ gridSet: set.gridSet, z, rect }));
  const generations = await Promise.all(places.map((place) => store.marks(set.layer, place)));
  return JSON.stringify([tileSetId(set), Math.max(...generations)]);
}
