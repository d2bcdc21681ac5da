import { type Bounds, type Polygon, polygonOfBounds } from '../domain/bounds.ts';
import type { ChangedPlace } from '../domain/place-in-grid-set.ts';
import { type Point, projectionOfSrs } from '../domain/projection.ts';

export const DEGREES = 4326;

/** The fault of a box; null: it is valid. */
export function faultOfBounds({ minX, minY, maxX, maxY }: Bounds, srs: number): string | null {
  if (![minX, minY, maxX, maxY].every(Number.isFinite)) return 'must be four finite numbers';
  if (minX > maxX || minY > maxY) {
    return 'must be minX, minY, maxX, maxY with min not above max; a box over the antimeridian is a MultiPolygon cut at 180°';
  }
  return faultOfPoints(
    [
      [minX, minY],
      [maxX, maxY],
    ],
    srs,
  );
}

/** The fault of points in a CRS; null: they are valid. */
export function faultOfPoints(points: readonly Point[], srs: number): string | null {
  const projection = projectionOfSrs(srs);
  if (!projection) return `has the CRS EPSG:${srs}, which is not known here`;
  if (!points.every(([x, y]) => Number.isFinite(x) && Number.isFinite(y)))
    return 'must have finite coordinates';
  if (srs === DEGREES && !points.every(([x, y]) => Math.abs(x) <= 180 && Math.abs(y) <= 90)) {
    return 'must have longitudes from -180 to 180 and latitudes from -90 to 90';
  }
  if (points.every(([x, y]) => projection.toLonLat(x, y))) return null;
  return `has coordinates that EPSG:${srs} does not have`;
}

export function placeOfBounds(bounds: Bounds, srs: number): ChangedPlace {
  return { srs, polygons: [polygonOfBounds(bounds)] };
}

/** A line as a polygon that encloses nothing: there and back. */
export function polygonOfLine(line: readonly Point[]): Polygon {
  const back = line.slice(0, -1).reverse();
  const [only] = line;
  return [line.length === 1 && only ? [only, only, only] : [...line, ...back]];
}
