import type { Bounds } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import { tilesOfBounds } from '../domain/grid-set.ts';
import { everySubset, findGridSubset, type Layer } from '../domain/layer.ts';
import { PAGE_SIZE, pageOf } from '../domain/page.ts';
import { denseNameOf } from '../domain/retina.ts';
import { shortened } from '../domain/shortened.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { intersectRects, rectContains, type TileRect } from '../domain/tile-rect.ts';
import type { TileEntry, TileStore } from '../storage/tile-store.ts';
import { type AreaCover, createAreaCover, zoomGeometryOf } from './area-cover.ts';
import { areaIn } from './task-area.ts';
import type { TaskDraft } from './task-draft.ts';

/** Which of a layer's cached tiles; what is left out is not narrowed. */
export interface TruncationSelection {
  /** By name; also those that the layer no longer has. Each with the tiles for dense screens in its places. */
  readonly gridSets?: readonly string[];
  readonly formats?: readonly string[];
  /** Null: the default combination. */
  readonly parametersId?: string | null;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
  /** In the CRS of each grid set; only for grid sets that the layer has. */
  readonly bounds?: Bounds;
  /** Narrows further; only for grid sets that the layer has. */
  readonly area?: TaskDraft['area'];
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
  if (gridSets && !gridSets.some((name) => isMeantBy(name, set.gridSet))) return false;
  if (formats && !formats.includes(set.format)) return false;
  return parametersId === undefined || parametersId === set.parametersId;
}

/** A grid set or format that the layer neither has nor has tiles of: it is misspelt, and would select nothing. */
export async function refuseUnknownNames(
  layer: Layer,
  { gridSets = [], formats = [] }: TruncationSelection,
  storedSets: () => Promise<readonly TileSetKey[]>,
): Promise<void> {
  const offered = {
    gridSets: everySubset(layer).map(({ gridSet }) => gridSet.name),
    formats: layer.formats.map(({ mediaType }) => mediaType),
  };
  const strangers = {
    gridSets: gridSets.filter((name) => !offered.gridSets.some((gridSet) => isMeantBy(name, gridSet))),
    formats: formats.filter((name) => !offered.formats.includes(name)),
  };
  if (strangers.gridSets.length + strangers.formats.length === 0) return;
  const stored = await storedSets();
  const gridSet = strangers.gridSets.find((name) => !stored.some((set) => isMeantBy(name, set.gridSet)));
  if (gridSet !== undefined) throw unknownName('gridSets', gridSet, offered.gridSets);
  const format = strangers.formats.find((name) => !stored.some((set) => set.format === name));
  if (format !== undefined) throw unknownName('formats', format, offered.formats);
}

function unknownName(field: string, name: string, offered: readonly string[]): TilewardenError {
  const message = `${field} names ${shortened(name)}, of which there are no tiles; the layer has ${offered.join(', ')}.`;
  return new TilewardenError('request-invalid', message);
}

/** Who says that a map has changed does not think of screens: a grid set's name means its dense tiles too. */
export function isMeantBy(name: string, gridSet: string): boolean {
  return gridSet === name || gridSet === denseNameOf(name);
}

/** Whether whole tile sets are meant, which go in one step however large they are. */
export function selectsWholeSets(selection: TruncationSelection): boolean {
  const { zoomStart, zoomStop, bounds, area, olderThan } = selection;
  return [zoomStart, zoomStop, bounds, area, olderThan].every((narrowed) => narrowed === undefined);
}

/** Counts exactly what the selection holds of a tile set, and hands it over block by block. */
export async function goThroughSelected(
  store: TileStore,
  layer: Layer,
  set: TileSetKey,
  selection: TruncationSelection,
  act: (z: number, rect: TileRect) => Promise<unknown>,
): Promise<SelectedTiles> {
  let tiles = 0;
  let bytes = 0;
  for (const z of await zoomsOf(store, set, selection)) {
    const within = placesAt(layer, set, z, selection);
    if (!within) continue;
    for await (const doomed of doomedIn(store, set, z, within, selection)) {
      tiles += doomed.tiles;
      bytes += doomed.bytes;
      await act(z, doomed.rect);
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

/** Where tiles of a zoom are meant. */
interface Places {
  readonly rect: TileRect;
  readonly cover: AreaCover | null;
}

/** Null: nowhere at this zoom. */
function placesAt(
  layer: Layer,
  set: TileSetKey,
  z: number,
  { bounds, area }: TruncationSelection,
): Places | null {
  if (!bounds && !area) return { rect: WHOLE_LEVEL, cover: null };
  const gridSet = findGridSubset(layer, set.gridSet)?.gridSet;
  if (!gridSet || z >= gridSet.levels.length) return null;
  const rect = bounds ? tilesOfBounds(gridSet, z, bounds) : WHOLE_LEVEL;
  const polygons = areaIn(gridSet, area);
  const cover = polygons && createAreaCover(polygons, [zoomGeometryOf(gridSet, z)]);
  return rect && { rect, cover };
}

function isWithin({ rect, cover }: Places, { z, x, y }: TileEntry): boolean {
  if (!rectContains(rect, x, y)) return false;
  if (!cover) return true;
  const { value } = cover.bands(z, { minX: x, minY: y, maxX: x, maxY: y }).next();
  return value !== undefined;
}

/** A store tells the tiles of a page one after the other, so that a page is held at a time and no more. */
async function* doomedIn(
  store: TileStore,
  set: TileSetKey,
  z: number,
  within: Places,
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
function* doomedOf(page: readonly TileEntry[], within: Places, olderThan: number): Generator<Doomed> {
  const [first] = page;
  const inside = page.filter((tile) => isWithin(within, tile));
  const doomed = inside.filter(({ createdAt }) => createdAt < olderThan);
  if (!first || doomed.length === 0) return;
  if (doomed.length < inside.length || (within.cover && inside.length < page.length)) {
    for (const { x, y, bytes } of doomed)
      yield { rect: { minX: x, minY: y, maxX: x, maxY: y }, tiles: 1, bytes };
    return;
  }
  const [minX, minY] = [pageOf(first.x) * PAGE_SIZE, pageOf(first.y) * PAGE_SIZE];
  const whole = { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
  const rect = intersectRects(whole, within.rect);
  const bytes = doomed.reduce((sum, tile) => sum + tile.bytes, 0);
  if (rect) yield { rect, tiles: doomed.length, bytes };
}
