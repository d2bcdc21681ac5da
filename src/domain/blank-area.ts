import { type Bounds, type Polygon, polygonHolds } from './bounds.ts';
import { boundsOfTile, type GridSet } from './grid-set.ts';
import { type Point, projectionOf } from './projection.ts';
import { RETINA_SUFFIX } from './retina.ts';
import type { TileRect } from './tile-rect.ts';

/** An area that an administrator has confirmed as blank. */
export interface BlankArea {
  /** By name or alias, with its sibling for dense screens; null: in all. */
  readonly gridSet: string | null;
  readonly zoomStart: number;
  readonly zoomStop: number;
  /** Null: everywhere at these zooms. */
  readonly area: {
    readonly polygons: readonly Polygon[];
    readonly crs: 'grid-set' | 'EPSG:4326';
  } | null;
}

/** Whether the areas together contain each of these tiles: an area contains a tile if it contains its middle. */
export function blankIsRightIn(
  areas: readonly BlankArea[],
  gridSet: GridSet,
  z: number,
  { minX, minY, maxX, maxY }: TileRect,
): boolean {
  const meant = areas.filter((area) => z >= area.zoomStart && z <= area.zoomStop && isFor(area, gridSet));
  if (meant.length === 0) return false;
  for (let y = minY; y <= maxY; y++) {
    for (let x = minX; x <= maxX; x++) {
      const middle = middleOf(boundsOfTile(gridSet, z, x, y));
      if (!meant.some((area) => holds(area, gridSet, middle))) return false;
    }
  }
  return true;
}

export function polygonOfBounds({ minX, minY, maxX, maxY }: Bounds): Polygon {
  return [
    [
      [minX, minY],
      [maxX, minY],
      [maxX, maxY],
      [minX, maxY],
      [minX, minY],
    ],
  ];
}

function isFor({ gridSet: wanted }: BlankArea, { name, aliases }: GridSet): boolean {
  if (wanted === null) return true;
  return [name, ...aliases].some((known) => known === wanted || known === `${wanted}${RETINA_SUFFIX}`);
}

function middleOf({ minX, minY, maxX, maxY }: Bounds): Point {
  return [(minX + maxX) / 2, (minY + maxY) / 2];
}

function holds({ area }: BlankArea, gridSet: GridSet, [x, y]: Point): boolean {
  if (!area) return true;
  const place: Point | null =
    area.crs === 'grid-set' ? [x, y] : (projectionOf(gridSet)?.toLonLat(x, y) ?? null);
  return place !== null && area.polygons.some((polygon) => polygonHolds(polygon, ...place));
}
