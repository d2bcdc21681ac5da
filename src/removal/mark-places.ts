import type { TileRecord } from '../catalog/incarnations.ts';
import { coveredRects } from '../domain/area-cover.ts';
import { areaIn } from '../domain/area-in-grid-set.ts';
import { type Bounds, boundsAround, boundsOfPoints, type Polygon } from '../domain/bounds.ts';
import { denseNameOf, type GridSubset } from '../domain/grid-subset.ts';
import { findGridSubset, type Layer } from '../domain/layer.ts';
import { packRects, type TileRect } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { createPace, type Pace } from '../lib/yielding.ts';
import type { TilePlace } from '../storage/store.ts';
import type { Removal } from './removal.ts';
import { placesOf, placesOfBoxes, type TileSelection } from './tile-selection.ts';

/** Limit of rectangles per zoom that readers compare with; above it neighbours are merged. */
const MAX_PARTS = 128;
/** Bands of a polygon's cover per part: merging the parts would undo a finer cover. */
const BANDS_PER_PART = 8;
/** Boxes in a turn of the event loop; each takes some microseconds. */
const RECTS_PER_TURN = 40;

/** The places of a selection; without named grid sets, also those of grid sets that the layer had lately. */
export async function removalOf(
  layer: Layer,
  record: TileRecord | null,
  selection: TileSelection,
  type: Removal['type'],
): Promise<Removal> {
  const { formats, parametersId, olderThan, zoomStart, zoomStop } = selection;
  const gridSets = selection.gridSets ? [] : formerGridSets(layer, record);
  const former = omitUndefined({ gridSets, zoomStart, zoomStop });
  const places = await placesToMark(layer, [selection, former]);
  return {
    layer: layer.name,
    places,
    type,
    ...omitUndefined({ formats, parametersId, createdBefore: olderThan }),
  };
}

/** Where a mark applies, for readers; null: the whole layer. */
export async function placesToMark(
  layer: Layer,
  selections: readonly TileSelection[],
): Promise<readonly TilePlace[] | null> {
  if (selections.some(isEverywhere)) return null;
  const places: TilePlace[] = [];
  const pace = createPace(RECTS_PER_TURN);
  for (const selection of selections) {
    for (const gridSet of selection.gridSets ?? layer.gridSubsets.map((subset) => subset.gridSet.name)) {
      const subset = findGridSubset(layer, gridSet);
      const polygons = subset && areaIn(subset.gridSet, selection.area);
      if (!polygons)
        for (const { z, rect } of placesOf(layer, gridSet, selection)) places.push({ gridSet, z, rect });
      // At zooms that the layer does not offer the boxes around the polygons are enough.
      else places.push(...(await placesOfArea(layer, subset, selection, polygons, pace)));
    }
  }
  return places.flatMap(withDense);
}

function isEverywhere({ gridSets, zoomStart, zoomStop, bounds, area }: TileSelection): boolean {
  return [gridSets, zoomStart, zoomStop, bounds, area].every((narrowed) => narrowed === undefined);
}

/** Tiles for dense screens have the same places, whether or not the layer still offers them. */
export function withDense(place: TilePlace): readonly TilePlace[] {
  const dense = denseNameOf(place.gridSet);
  return dense === null ? [place] : [place, { ...place, gridSet: dense }];
}

/** Grid sets that the layer had lately: a declaration that comes back would show their tiles again. */
export function formerGridSets(layer: Layer, record: TileRecord | null): readonly string[] {
  return Object.keys(record?.gridSets ?? {}).filter((name) => !findGridSubset(layer, name));
}

/** Each polygon by itself: most are boxes, which are a rectangle of tiles at every zoom. */
async function placesOfArea(
  layer: Layer,
  { gridSet, zoomStop: exactUpTo }: GridSubset,
  selection: TileSelection,
  polygons: readonly Polygon[],
  pace: Pace,
): Promise<readonly TilePlace[]> {
  const byZoom = new Map<number, Map<string, TileRect>>();
  const add = (z: number, one: TileRect) => {
    const parts = getOrCreate(byZoom, z, () => new Map<string, TileRect>());
    parts.set(`${one.minX} ${one.minY} ${one.maxX} ${one.maxY}`, one);
  };
  const boxes = new Map(polygons.map((polygon) => [polygon, boundsIfRectangle(polygon)]));
  await pace(polygons.length);
  for (const { z, rect } of placesOfBoxes(
    gridSet,
    selection,
    [...boxes.values()].filter((box) => box !== null),
  )) {
    add(z, rect);
    await pace(1);
  }
  const each = Math.max(1, Math.floor(MAX_PARTS / polygons.length));
  for (const polygon of polygons.filter((one) => !boxes.get(one))) {
    const area = { polygons: [polygon], crs: 'grid-set' as const };
    const bands = each * BANDS_PER_PART;
    for (const { z, rect, cover } of placesOf(layer, gridSet.name, { ...selection, area }, bands)) {
      for (const one of z > exactUpTo ? [rect] : atMost(each, [...coveredRects(cover, z, rect)])) add(z, one);
      await pace(Math.ceil(bands / 4));
    }
  }
  const places: TilePlace[] = [];
  for (const [z, rects] of byZoom) {
    await pace(rects.size);
    const parts = atMost(MAX_PARTS, [...rects.values()]);
    const place = { gridSet: gridSet.name, z, rect: boundsAround(parts) };
    places.push({ ...place, ...(parts.length > 1 && { parts: packRects(parts) }) });
  }
  return places;
}

/** The box of a rectangle; null: a point is not on the border of the box, or a corner is missing. */
function boundsIfRectangle(polygon: Polygon): Bounds | null {
  const [ring = []] = polygon;
  const box = boundsOfPoints(polygon.flat());
  const { minX, minY, maxX, maxY } = box;
  const corners = new Set<number>();
  for (const [x, y] of ring) {
    const [isSide, isEnd] = [x === minX || x === maxX, y === minY || y === maxY];
    if (!isSide && !isEnd) return null;
    if (isSide && isEnd) corners.add((x === minX ? 0 : 1) + (y === minY ? 0 : 2));
  }
  const all = (minX === maxX ? 1 : 2) * (minY === maxY ? 1 : 2);
  return polygon.length === 1 && corners.size === all ? box : null;
}

/** Merges neighbours in the list until at most `count` are left. */
function atMost(count: number, rects: readonly TileRect[]): readonly TileRect[] {
  const size = Math.ceil(rects.length / count);
  if (size <= 1) return rects;
  const groups = Array.from({ length: Math.ceil(rects.length / size) }, (_, i) =>
    rects.slice(i * size, (i + 1) * size),
  );
  return groups.map(boundsAround);
}
