import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Polygon } from '../domain/bounds.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import { everySubset, findGridSubset, type Layer } from '../domain/layer.ts';
import { rectAround, type TileRect } from '../domain/tile-rect.ts';
import { getOrMake } from '../lib/get-or-make.ts';
import type { TilePlace } from '../storage/tile-store.ts';
import { coveredRects } from './area-cover.ts';
import { areaIn, boundsOfArea } from './task-area.ts';
import { isMeantBy, placesOf, placesOfBoxes, type TileSelection } from './tile-selection.ts';

/** Rectangles of a zoom that readers compare with; neighbours of more are taken together. */
const MAX_PARTS = 128;
const BOXES_PER_TURN = 200;

/** Where a mark applies, for readers; null: the whole layer. */
export async function placesToMark(
  layer: Layer,
  selections: readonly TileSelection[],
): Promise<readonly TilePlace[] | null> {
  if (selections.some(isEverywhere)) return null;
  const places: TilePlace[] = [];
  for (const selection of selections) {
    for (const gridSet of gridSetsOf(layer, selection)) {
      const subset = findGridSubset(layer, gridSet);
      const polygons = subset && areaIn(subset.gridSet, selection.area);
      if (!polygons)
        for (const { z, rect } of placesOf(layer, gridSet, selection)) places.push({ gridSet, z, rect });
      // At zooms that the layer does not offer the boxes around the polygons are enough.
      else places.push(...(await placesOfArea(layer, subset, selection, polygons)));
    }
  }
  return places;
}

function isEverywhere({ gridSets, zoomStart, zoomStop, bounds, area }: TileSelection): boolean {
  return [gridSets, zoomStart, zoomStop, bounds, area].every((narrowed) => narrowed === undefined);
}

/** Also those that the layer no longer has. */
function gridSetsOf(layer: Layer, { gridSets }: TileSelection): readonly string[] {
  const offered = everySubset(layer).map(({ gridSet }) => gridSet.name);
  if (!gridSets) return offered;
  const meant = offered.filter((name) => gridSets.some((one) => isMeantBy(one, name)));
  return [...new Set([...gridSets, ...meant])];
}

/** Each polygon by itself: most are boxes, which are a rectangle of tiles at every zoom. */
async function placesOfArea(
  layer: Layer,
  { gridSet, zoomStop: exactUpTo }: GridSubset,
  selection: TileSelection,
  polygons: readonly Polygon[],
): Promise<readonly TilePlace[]> {
  const byZoom = new Map<number, Map<string, TileRect>>();
  const add = (z: number, one: TileRect) => {
    const parts = getOrMake(byZoom, z, () => new Map<string, TileRect>());
    parts.set(`${one.minX} ${one.minY} ${one.maxX} ${one.maxY}`, one);
  };
  const boxes = polygons.filter(isBox).map((polygon) => boundsOfArea([polygon]));
  let count = 0;
  for (const { z, rect } of placesOfBoxes(gridSet, selection, boxes)) {
    add(z, rect);
    if (++count % BOXES_PER_TURN === 0) await nextTurn();
  }
  const each = Math.max(1, Math.floor(MAX_PARTS / polygons.length));
  for (const polygon of polygons.filter((one) => !isBox(one))) {
    const area = { polygons: [polygon], crs: 'grid-set' as const };
    for (const { z, rect, cover } of placesOf(layer, gridSet.name, { ...selection, area })) {
      for (const one of z > exactUpTo ? [rect] : atMost(each, [...coveredRects(cover, z, rect)])) add(z, one);
      await nextTurn();
    }
  }
  await nextTurn();
  return [...byZoom].flatMap(([z, rects]): TilePlace[] => {
    const parts = atMost(MAX_PARTS, [...rects.values()]);
    const rect = around(parts);
    return rect ? [{ gridSet: gridSet.name, z, rect, ...(parts.length > 1 && { parts }) }] : [];
  });
}

/** Whether every point is on the border of the box around them. */
function isBox(polygon: Polygon): boolean {
  if (polygon.length !== 1) return false;
  const { minX, minY, maxX, maxY } = boundsOfArea([polygon]);
  const ring = polygon[0] ?? [];
  const isCorner = ([x, y]: readonly [number, number]) =>
    (x === minX || x === maxX) && (y === minY || y === maxY);
  const isOnBorder = ([x, y]: readonly [number, number]) =>
    x === minX || x === maxX || y === minY || y === maxY;
  const corners = new Set(ring.filter(isCorner).map(String));
  return ring.every(isOnBorder) && corners.size === (minX === maxX ? 1 : 2) * (minY === maxY ? 1 : 2);
}

/** Neighbours in the list are taken together. */
function atMost(count: number, rects: readonly TileRect[]): readonly TileRect[] {
  const size = Math.ceil(rects.length / count);
  if (size <= 1) return rects;
  const groups = Array.from({ length: Math.ceil(rects.length / size) }, (_, i) =>
    rects.slice(i * size, (i + 1) * size),
  );
  return groups.flatMap((group) => around(group) ?? []);
}

function around(rects: readonly TileRect[]): TileRect | null {
  return rectAround(
    rects.flatMap(({ minX, minY, maxX, maxY }) => [
      { x: minX, y: minY },
      { x: maxX, y: maxY },
    ]),
  );
}
