import { createHash } from 'node:crypto';
import { type AreaShape, digestOfShape, packPolygons } from './area-shape.ts';
import { type Bounds, boundsAround, boundsOfPoints, type Polygon, polygonOfBounds } from './bounds.ts';
import { invalid, misconfigured } from './errors.ts';
import { countPoints } from './place-in-grid-set.ts';
import type { AreaPlacer } from './placed-area.ts';
import { type Point, projectionOfSrs } from './projection.ts';

/** A shape with its measures, as plain data. */
export interface MeasuredShape {
  /** EPSG code; `projectionOfSrs` knows it. */
  readonly srs: number;
  readonly shape: AreaShape;
  readonly bounds: Bounds;
  readonly points: number;
  /** Equal for equal shapes. */
  readonly digest: string;
}

/** A place on earth with a name. */
export interface NamedArea extends MeasuredShape {
  readonly name: string;
  /** Places a large area on another thread; null: it is placed on this one. */
  readonly placer: AreaPlacer | null;
  /** Equal for equal shapes; for an area with a source, equal for the same source. */
  readonly digest: string;
  /** Where the shape is read from, repeatedly; null: it is part of the declaration. */
  readonly source: AreaSource | null;
  /** Milliseconds since 1970: when the shape changed last; null: it is part of the declaration, or was never read. */
  readonly updatedAt: number | null;
  /** Why the shape could not be read; the last known one is used. */
  readonly error: string | null;
}

/** A table of a GeoPackage, or a query of a PostgreSQL database with PostGIS. */
export type AreaSource =
  | { readonly file: string; readonly table: string }
  | {
      readonly url: string;
      readonly query: string;
      /** Seconds. */
      readonly every: number;
    };

type GivenShape = { readonly bounds: Bounds } | { readonly wkt: string } | { readonly geojson: unknown };

export const MAX_AREA_POINTS = 2_000_000;
/** Points that are converted to find out whether an area is in its CRS. */
const CONVERTED_POINTS = 1000;

/** Throws `config-invalid`. */
export function createNamedArea(name: string, srs: number, given: GivenShape | MeasuredShape): NamedArea {
  const measured = 'digest' in given ? given : measure(srs, polygonsIn(given));
  return { ...measured, name, placer: null, source: null, updatedAt: null, error: null };
}

/** Throws `config-invalid`. */
export function measure(srs: number, polygons: readonly Polygon[]): MeasuredShape {
  checkShape(srs, polygons);
  const shape = packPolygons(polygons);
  const bounds = boundsAround(polygons.map(([outer = []]) => boundsOfPoints(outer)));
  return { srs, shape, points: countPoints(polygons), bounds, digest: digestOfShape(srs, shape) };
}

/** An area without a shape yet, which shows nothing. Throws `config-invalid`. */
export function createReadArea(name: string, srs: number, source: AreaSource): NamedArea {
  if (!projectionOfSrs(srs)) throw misconfigured(`The CRS EPSG:${srs} is not known here.`);
  const place = 'file' in source ? [source.file, source.table] : [source.query];
  const digest = createHash('sha256')
    .update(JSON.stringify([srs, place]))
    .digest('hex');
  const bounds = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
  const shape = packPolygons([]);
  return { name, srs, shape, bounds, points: 0, digest, placer: null, source, updatedAt: null, error: null };
}

/** Polygons of finite coordinates. Throws `config-invalid`. */
function checkShape(srs: number, polygons: readonly Polygon[]): void {
  const projection = projectionOfSrs(srs);
  if (!projection) throw misconfigured(`The CRS EPSG:${srs} is not known here.`);
  if (polygons.length === 0) throw misconfigured('It has no polygons.');
  const points = countPoints(polygons);
  if (points > MAX_AREA_POINTS)
    throw misconfigured(`It has ${points} points; at most ${MAX_AREA_POINTS} are allowed.`);
  const step = Math.ceil(points / CONVERTED_POINTS);
  for (const ring of polygons.flat()) {
    if (ring.length < 3) throw misconfigured('A ring needs at least three points.');
    for (let i = 0; i < ring.length; i += step) {
      const [x, y] = ring[i] ?? [0, 0];
      if (!projection.toLonLat(x, y)) throw misconfigured(`The point ${x} ${y} is not in EPSG:${srs}.`);
    }
  }
}

export function polygonsIn(shape: GivenShape): readonly Polygon[] {
  if ('bounds' in shape) return [polygonOfBounds(shape.bounds)];
  return 'wkt' in shape ? polygonsOfWkt(shape.wkt) : polygonsOfGeoJson(shape.geojson);
}

/** RFC 7946: polygons, alone or in features and collections. Throws `request-invalid`. */
export function polygonsOfGeoJson(value: unknown): readonly Polygon[] {
  const { type, coordinates, geometry, geometries, features } = Object(value) as Record<string, unknown>;
  if (type === 'FeatureCollection' && Array.isArray(features)) return features.flatMap(polygonsOfGeoJson);
  if (type === 'GeometryCollection' && Array.isArray(geometries))
    return geometries.flatMap(polygonsOfGeoJson);
  if (type === 'Feature') return polygonsOfGeoJson(geometry);
  if (type === 'Polygon') return [polygonOf(coordinates)];
  if (type === 'MultiPolygon' && Array.isArray(coordinates)) return coordinates.map(polygonOf);
  throw invalid('It must be GeoJSON: Polygon, MultiPolygon, or features of these.');
}

function polygonOf(rings: unknown): Polygon {
  if (!Array.isArray(rings) || rings.length === 0) throw invalid('A polygon must be a list of rings.');
  return rings.map((ring) => {
    if (!Array.isArray(ring)) throw invalid('A ring must be a list of points.');
    return ring.map((point): Point => {
      const [x, y] = Array.isArray(point) ? point : [];
      if (!isNumber(x) || !isNumber(y)) throw invalid('A point must be two numbers.');
      return [x, y];
    });
  });
}

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const WKT_TYPES = new Map([
  ['POLYGON', 'Polygon'],
  ['MULTIPOLYGON', 'MultiPolygon'],
]);

/** OGC 06-103r4, 7: POLYGON and MULTIPOLYGON, also with Z or M. Throws `config-invalid`. */
export function polygonsOfWkt(text: string): readonly Polygon[] {
  const tokens: readonly string[] = text.match(/[(),]|[^\s(),]+/g) ?? [];
  const type = WKT_TYPES.get(tokens[0]?.toUpperCase() ?? '');
  const lists: string[] = [];
  let point: number[] = [];
  for (const token of tokens.slice(tokens.indexOf('('))) {
    const sign = { '(': '[', ')': ']', ',': ',' }[token];
    if (sign === undefined) point.push(Number(token));
    else lists.push(point.length > 0 ? JSON.stringify(point) : '', sign);
    if (sign !== undefined) point = [];
  }
  try {
    return polygonsOfGeoJson({ type, coordinates: JSON.parse(lists.join('')) });
  } catch {
    throw misconfigured('It must be WKT: POLYGON ((x y, …)) or MULTIPOLYGON (((x y, …))).');
  }
}
