import type { Polygon } from './bounds.ts';
import { invalid } from './errors.ts';
import type { GridSet } from './grid-set.ts';
import { type Point, projectionOfSrs } from './projection.ts';
import { sameSrs } from './srs.ts';

const MAX_POINTS = 10_000;
const DEGREES = 4326;
const WEB_MERCATOR = 3857;
/** The latitude at which web mercator ends. */
const MAX_LATITUDE = 85.06;

export interface Area {
  readonly polygons: readonly Polygon[];
  readonly crs: 'grid-set' | 'EPSG:4326';
}

/** The polygons of the area in the grid set's CRS; null: no area. */
export function areaIn(gridSet: GridSet, area: Area | undefined): readonly Polygon[] | null {
  if (!area) return null;
  checkArea(area.polygons);
  const convert = area.crs === 'grid-set' ? same : fromLonLat(gridSet);
  return area.polygons.map((polygon) => polygon.map((ring) => ring.map(convert)));
}

/** Throws `request-invalid`. */
export function checkArea(polygons: readonly Polygon[]): void {
  const rings = polygons.flat();
  const points = rings.flat();
  if (polygons.length === 0 || rings.some((ring) => ring.length < 3)) {
    throw invalid('area must hold polygons whose rings have at least three points.');
  }
  if (points.length > MAX_POINTS) throw invalid(`area may have at most ${MAX_POINTS} points.`);
  if (!points.every(([x, y]) => Number.isFinite(x) && Number.isFinite(y))) {
    throw invalid('area must have finite coordinates.');
  }
}

const same = (point: Point): Point => point;

function fromLonLat(gridSet: GridSet): (point: Point) => Point {
  if (gridSet.srs === DEGREES) return same;
  if (sameSrs(gridSet.srs, WEB_MERCATOR)) return mercator;
  throw invalid(
    `area in EPSG:4326 can be used with grid sets in EPSG:4326 and EPSG:3857; give it in the CRS of ${gridSet.name}.`,
  );
}

function mercator([longitude, latitude]: Point): Point {
  const bounded = Math.min(Math.max(latitude, -MAX_LATITUDE), MAX_LATITUDE);
  return projectionOfSrs(WEB_MERCATOR)?.fromLonLat(longitude, bounded) ?? [longitude, bounded];
}
