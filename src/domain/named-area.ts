import { createHash } from 'node:crypto';
import { type Bounds, boundsOfPoints, type Polygon, polygonOfBounds } from './bounds.ts';
import { invalid, misconfigured } from './errors.ts';
import { countPoints } from './place-in-grid-set.ts';
import { type Point, projectionOfSrs } from './projection.ts';

/** A place on earth with a name. */
export interface NamedArea {
  readonly name: string;
  /** EPSG code; `projectionOfSrs` knows it. */
  readonly srs: number;
  readonly polygons: readonly Polygon[];
  readonly bounds: Bounds;
  readonly points: number;
  /** The same for the same shape. */
  readonly digest: string;
}

type AreaShape = { readonly bounds: Bounds } | { readonly wkt: string } | { readonly geojson: unknown };

const MAX_POINTS = 200_000;

/** Throws `config-invalid`. */
export function createNamedArea(name: string, srs: number, shape: AreaShape): NamedArea {
  const projection = projectionOfSrs(srs);
  if (!projection) throw misconfigured(`The CRS EPSG:${srs} is not known here.`);
  const polygons = polygonsIn(shape);
  const points = countPoints(polygons);
  if (points > MAX_POINTS) throw misconfigured(`It has ${points} points; at most ${MAX_POINTS} are allowed.`);
  for (const polygon of polygons) for (const ring of polygon) checkRing(ring, srs);
  const digest = createHash('sha256')
    .update(JSON.stringify([srs, polygons]))
    .digest('hex');
  const all = polygons.flatMap((polygon) => polygon[0] ?? []);
  return { name, srs, polygons, bounds: boundsOfPoints(all), points, digest };

  function checkRing(ring: readonly Point[], code: number): void {
    if (ring.length < 3) throw misconfigured('A ring needs at least three points.');
    const wrong = ring.find(
      ([x, y]) => !Number.isFinite(x) || !Number.isFinite(y) || !projection?.toLonLat(x, y),
    );
    if (wrong) throw misconfigured(`The point ${wrong.join(' ')} is not in EPSG:${code}.`);
  }
}

function polygonsIn(shape: AreaShape): readonly Polygon[] {
  if ('bounds' in shape) return [polygonOfBounds(shape.bounds)];
  const polygons = 'wkt' in shape ? polygonsOfWkt(shape.wkt) : polygonsOfGeoJson(shape.geojson);
  if (polygons.length === 0) throw misconfigured('It has no polygons.');
  return polygons;
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
      if (typeof x !== 'number' || typeof y !== 'number') throw invalid('A point must be two numbers.');
      return [x, y];
    });
  });
}

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
