import type { Bounds } from '../domain/bounds.ts';
import { tilesOfBounds } from '../domain/grid-set.ts';
import { gridSubsetOf, type Layer } from '../domain/layer.ts';
import { PAGE_SIZE, pageOf } from '../domain/page.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { intersectRects, rectContains, type TileRect } from '../domain/tile-rect.ts';
import type { TileEntry, TileStore } from '../storage/tile-store.ts';

/** Which of a layer's cached tiles; what is left out is not narrowed. */
export interface TruncationSelection {
  /** By name; also those that the layer no longer has. */
  readonly gridSets?: readonly string[];
  readonly formats?: readonly string[];
  /** Null: the default combination. */
  readonly parametersId?: string | null;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
  /** In the CRS of each grid set; only for grid sets that the layer has. */
  readonly bounds?: Bounds;
  /** Tiles made before this time. Milliseconds since 1970. */
  readonly olderThan?: number;
}

export interface SelectedTiles {
  readonly set: TileSetKey;
  readonly tiles: number;
  /** The sum of the tiles' lengths. */
  readonly bytes: number;
}

interface Doomed {
  readonly rect: TileRect;
  readonly tiles: number;
  readonly bytes: number;
}

/** Beyond any tile index: zoom 30 ends at 2^30. */
const FAR = 2 ** 31;
const WHOLE_LEVEL: TileRect = { minX: 0, minY: 0, maxX: FAR, maxY: FAR };

export function selects(selection: TruncationSelection, set: TileSetKey): boolean {
  const { gridSets, formats, parametersId } = selection;
  if (gridSets && !gridSets.includes(set.gridSet)) return false;
  if (formats && !formats.includes(set.format)) return false;
  return parametersId === undefined || parametersId === set.parametersId;
}

/** Whether whole tile sets are meant, which go in one step however large they are. */
export function selectsWholeSets({ zoomStart, zoomStop, bounds, olderThan }: TruncationSelection): boolean {
  return [zoomStart, zoomStop, bounds, olderThan].every((narrowed) => narrowed === undefined);
}

/** Counts exactly what the selection holds of a tile set, and removes it unless it is only asked. */
export async function truncateSelected(
  store: TileStore,
  layer: Layer,
  set: TileSetKey,
  selection: TruncationSelection,
  dryRun: boolean,
): Promise<SelectedTiles> {
  let tiles = 0;
  let bytes = 0;
  for (const z of await zoomsOf(store, set, selection)) {
    const within = rectAt(layer, set, z, selection);
    if (!within) continue;
    for await (const doomed of doomedIn(store, set, z, within, selection)) {
      tiles += doomed.tiles;
      bytes += doomed.bytes;
      if (!dryRun) await store.deleteRange(set, z, doomed.rect);
    }
  }
  return { set, tiles, bytes };
}

/** From the page tables alone. */
export async function countWhole(store: TileStore, set: TileSetKey): Promise<SelectedTiles> {
  let tiles = 0;
  let bytes = 0;
  for await (const page of store.pages(set)) {
    tiles += page.tiles;
    bytes += page.bytes;
  }
  return { set, tiles, bytes };
}

async function zoomsOf(
  store: TileStore,
  set: TileSetKey,
  { zoomStart = 0, zoomStop = FAR }: TruncationSelection,
): Promise<readonly number[]> {
  const zooms = new Set<number>();
  for await (const { z } of store.pages(set)) if (z >= zoomStart && z <= zoomStop) zooms.add(z);
  return [...zooms].sort((a, b) => a - b);
}

function rectAt(layer: Layer, set: TileSetKey, z: number, { bounds }: TruncationSelection): TileRect | null {
  if (!bounds) return WHOLE_LEVEL;
  const { gridSet } = gridSubsetOf(layer, set.gridSet);
  return z < gridSet.levels.length ? tilesOfBounds(gridSet, z, bounds) : null;
}

/** A store tells the tiles of a page one after the other, so that a page is held at a time and no more. */
async function* doomedIn(
  store: TileStore,
  set: TileSetKey,
  z: number,
  within: TileRect,
  { olderThan = Number.POSITIVE_INFINITY }: TruncationSelection,
): AsyncGenerator<Doomed> {
  let page: TileEntry[] = [];
  for await (const tile of store.tiles(set, z)) {
    const [first] = page;
    if (first && (pageOf(first.x) !== pageOf(tile.x) || pageOf(first.y) !== pageOf(tile.y))) {
      yield* doomedOf(page, within, olderThan);
      page = [];
    }
    page.push(tile);
  }
  yield* doomedOf(page, within, olderThan);
}

/** One block where all that lies within goes, tile by tile otherwise. */
function* doomedOf(page: readonly TileEntry[], within: TileRect, olderThan: number): Generator<Doomed> {
  const [first] = page;
  const inside = page.filter(({ x, y }) => rectContains(within, x, y));
  const doomed = inside.filter(({ createdAt }) => createdAt < olderThan);
  if (!first || doomed.length === 0) return;
  if (doomed.length < inside.length) {
    for (const { x, y, bytes } of doomed)
      yield { rect: { minX: x, minY: y, maxX: x, maxY: y }, tiles: 1, bytes };
    return;
  }
  const [minX, minY] = [pageOf(first.x) * PAGE_SIZE, pageOf(first.y) * PAGE_SIZE];
  const whole = { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
  const rect = intersectRects(whole, within);
  const bytes = doomed.reduce((sum, tile) => sum + tile.bytes, 0);
  if (rect) yield { rect, tiles: doomed.length, bytes };
}
