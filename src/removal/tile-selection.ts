import { type BoundLayer, storesOf } from '../catalog/catalog.ts';
import { plainName } from '../catalog/incarnations.ts';
import {
  type AreaCover,
  coveredRects,
  createAreaCover,
  type PixelBuffer,
  type ZoomGeometry,
  zoomGeometryOf,
} from '../domain/area-cover.ts';
import { type Area, areaIn } from '../domain/area-in-grid-set.ts';
import { type Bounds, boundsOfPoints, expandBounds } from '../domain/bounds.ts';
import { invalid, shortened, type TilewardenError } from '../domain/errors.ts';
import { type GridSet, tilesOfBounds } from '../domain/grid-set.ts';
import { denseNameOf } from '../domain/grid-subset.ts';
import { everySubset, findGridSubset, type Layer } from '../domain/layer.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { DEEPEST_ZOOM, intersectRects, type TileRect, WHOLE_LEVEL } from '../domain/tile-rect.ts';
import { concerns } from '../storage/index/mark-rows.ts';
import { countStored, partsIn, tileSetsIn } from '../storage/read-tiles.ts';
import { NO_CHANGE, type Store, type StoreChange, sumOfChanges } from '../storage/store.ts';

/** A selection of a layer's cached tiles; an omitted field selects all. */
export interface TileSelection {
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
  readonly area?: Area;
  readonly buffer?: PixelBuffer;
  /** Tiles made before this time. Milliseconds since 1970. */
  readonly olderThan?: number;
}

export interface SelectedTiles extends StoreChange {
  readonly set: TileSetKey;
}

/** The selected tiles of a zoom: those of the cover in `rect`, or all of `rect` without a cover. */
interface SelectedPlace {
  readonly z: number;
  readonly rect: TileRect;
  readonly cover: AreaCover | null;
}

export interface StoredSet {
  readonly store: Store;
  readonly set: TileSetKey;
}

/** The tile sets of a layer in all stores. */
export async function setsOf(
  bound: BoundLayer,
  selection: TileSelection = {},
): Promise<readonly StoredSet[]> {
  const sets: StoredSet[] = [];
  for (const store of storesOf(bound).values()) {
    for (const set of await tileSetsIn(store, bound.layer.name)) {
      if (selects(selection, set)) sets.push({ store, set });
    }
  }
  return sets;
}

export function selects(selection: TileSelection, set: TileSetKey): boolean {
  const { gridSets } = selection;
  return (!gridSets || gridSets.some((name) => isMeantBy(name, set.gridSet))) && concerns(selection, set);
}

/** An unknown grid set or format without tiles is a typing error that would select nothing. */
export async function refuseUnknownNames(
  layer: Layer,
  { gridSets = [], formats = [] }: TileSelection,
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
  return invalid(message);
}

/** A grid set's name selects its dense tiles too: a change of the map affects both. */
function isMeantBy(name: string, gridSet: string): boolean {
  return gridSet === name || gridSet === denseNameOf(name);
}

/** Whether whole tile sets are selected: they are dropped in one step, however large. */
export function selectsWholeSets(selection: TileSelection): boolean {
  const { zoomStart, zoomStop, bounds, area, olderThan } = selection;
  return [zoomStart, zoomStop, bounds, area, olderThan].every((narrowed) => narrowed === undefined);
}

/** The selected places, zoom by zoom; none if an area is selected and the layer no longer has the grid set. */
export function* placesOf(
  layer: Layer,
  gridSetName: string,
  { zoomStart = 0, zoomStop = DEEPEST_ZOOM, bounds, area, buffer }: TileSelection,
  maxBands?: number,
): Generator<SelectedPlace> {
  if (bounds === undefined && area === undefined) {
    for (let z = zoomStart; z <= Math.min(zoomStop, DEEPEST_ZOOM); z++) {
      yield { z, rect: WHOLE_LEVEL, cover: null };
    }
    return;
  }
  const gridSet = (findGridSubset(layer, gridSetName) ?? findGridSubset(layer, plainName(gridSetName)))
    ?.gridSet;
  if (!gridSet) return;
  const polygons = areaIn(gridSet, area);
  const zooms = zoomsOf(gridSet, zoomStart, zoomStop, buffer);
  const cover = polygons && createAreaCover(polygons, zooms, maxBands);
  const box = polygons && boundsOfPoints(polygons.flat(2));
  for (const zoom of zooms) {
    const rect = rectAt(gridSet, zoom, bounds, box);
    if (rect) yield { z: zoom.z, rect, cover };
  }
}

/** As `placesOf`, of an area of so many boxes. */
export function* placesOfBoxes(
  gridSet: GridSet,
  { zoomStart = 0, zoomStop = DEEPEST_ZOOM, bounds, buffer }: TileSelection,
  boxes: readonly Bounds[],
): Generator<Omit<SelectedPlace, 'cover'>> {
  for (const zoom of zoomsOf(gridSet, zoomStart, zoomStop, buffer)) {
    for (const box of boxes) {
      const rect = rectAt(gridSet, zoom, bounds, box);
      if (rect) yield { z: zoom.z, rect };
    }
  }
}

/** The tiles of a box with its buffer, within the bounds; null: none. */
function rectAt(
  gridSet: GridSet,
  { z, buffer = 0, tileSpanX, tileSpanY }: ZoomGeometry,
  bounds: Bounds | undefined,
  box: Bounds | null,
): TileRect | null {
  const all = bounds ? tilesOfBounds(gridSet, z, bounds) : null;
  if (!box) return all;
  const rect = tilesOfBounds(gridSet, z, expandBounds(box, buffer * tileSpanX, buffer * tileSpanY));
  return bounds ? rect && all && intersectRects(all, rect) : rect;
}

function zoomsOf(
  gridSet: GridSet,
  start: number,
  stop: number,
  buffer: PixelBuffer | undefined,
): readonly ZoomGeometry[] {
  const count = Math.min(stop, gridSet.levels.length - 1) - start + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => zoomGeometryOf(gridSet, start + i, buffer));
}

/** The parts of a place that have tiles, block by block. */
export async function* rectsOf(
  store: Store,
  set: TileSetKey,
  { z, rect, cover }: SelectedPlace,
): AsyncGenerator<TileRect> {
  for (const part of await partsIn(store, set, z, rect)) yield* coveredRects(cover, z, part.rect);
}

/** Counts by pages where it can. `seen` is called with rectangles that have tiles. */
export async function countSelected(
  store: Store,
  layer: Layer,
  set: TileSetKey,
  selection: TileSelection,
  seen: (z: number, rect: TileRect) => void = () => {},
): Promise<SelectedTiles> {
  let counted = NO_CHANGE;
  for (const place of placesOf(layer, set.gridSet, selection)) {
    for await (const rect of rectsOf(store, set, place)) {
      const here = await countStored(store, set, place.z, rect, selection.olderThan);
      if (here.tiles > 0) seen(place.z, rect);
      counted = sumOfChanges([counted, here]);
    }
  }
  return { set, ...counted };
}
