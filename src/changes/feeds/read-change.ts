/** The body of a webhook. Strict: a misspelt, empty or null field never means everything. */
import { z } from 'zod';
import { boundsOf, type Polygon } from '../../domain/bounds.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import type { Point } from '../../domain/projection.ts';
import { explainIssues, printExplanations } from '../../lib/explain-issue.ts';
import { isRecord } from '../../lib/value-path.ts';
import { type Change, srsName, srsOf } from '../change-options.ts';
import { DEGREES, faultOfBounds, faultOfPoints, placeOfBounds, polygonOfLine } from '../check-place.ts';

const layers = z.array(z.string().min(1)).min(1).describe("Some of the feed's layers; all when absent");
const boundsBody = z.strictObject({
  bounds: z
    .tuple([z.number(), z.number(), z.number(), z.number()])
    .describe('minX, minY, maxX, maxY in the CRS of srs'),
  srs: srsName.default('EPSG:4326'),
  layers: layers.exactOptional(),
});
const wholeBody = z.strictObject({ whole: z.literal(true), layers: layers.exactOptional() });
const geoJsonBody = z.looseObject({ type: z.string(), layers: layers.exactOptional() });

export const changeBody = z
  .union([geoJsonBody.describe('A GeoJSON geometry, Feature or FeatureCollection'), boundsBody, wholeBody])
  .describe('Where the data have changed');

const WORDS = { key: 'a field', object: 'an object', nothing: 'null' };
const FORMS = 'a GeoJSON geometry, Feature or FeatureCollection, { "bounds": […] } or { "whole": true }';

/** Throws `request-invalid`, which names the field. `offered`: the feed's layers. */
export function readChange(body: unknown, offered: readonly string[]): Change {
  if (!isRecord(body)) throw invalid(`The body must be ${FORMS}.`);
  const { place, layers: named = null } = formOf(body);
  const unknown = named?.find((name) => !offered.includes(name));
  if (unknown === undefined) return { layers: named, place };
  throw invalid(`layers names ${shortened(unknown)}; the feed has ${offered.join(', ')}.`);
}

function formOf(body: Readonly<Record<string, unknown>>) {
  if (Object.hasOwn(body, 'type')) {
    const { layers: named } = check(body, geoJsonBody);
    refuseOtherCrs(body);
    const place = { srs: DEGREES, polygons: [...polygonsOf(body, '')] };
    return { place, ...(named && { layers: named }) };
  }
  if (Object.hasOwn(body, 'whole')) {
    const { layers: named } = check(body, wholeBody);
    return { place: null, ...(named && { layers: named }) };
  }
  if (!Object.hasOwn(body, 'bounds')) throw invalid(`The body must be ${FORMS}.`);
  const { bounds, srs, layers: named } = check(body, boundsBody);
  const fault = faultOfBounds(boundsOf(bounds), srsOf(srs));
  if (fault !== null) throw invalid(`bounds ${fault}.`);
  return { place: placeOfBounds(boundsOf(bounds), srsOf(srs)), ...(named && { layers: named }) };
}

function check<Schema extends z.ZodType>(body: unknown, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const jsonSchema = () => z.toJSONSchema(schema, { io: 'input' });
  throw invalid(printExplanations(explainIssues(result.error.issues, body, jsonSchema, WORDS), 'The body'));
}

/** GeoJSON of 2008 could name a CRS; RFC 7946 has WGS 84 only. */
function refuseOtherCrs({ crs }: Readonly<Record<string, unknown>>): void {
  if (crs === undefined || crs === null) return;
  if (/(CRS84|EPSG:+4326|WGS ?84)/i.test(JSON.stringify(crs))) return;
  throw invalid('crs must be WGS 84, longitude first (RFC 7946); send bounds with srs instead.');
}

const MAX_DEPTH = 8;

/** Every polygon, line and point of a geometry, feature or collection. `path` is empty for the body itself. */
function* polygonsOf(value: unknown, path: string, depth = 0): Generator<Polygon> {
  const at = (field: string) => (path === '' ? field : `${path}.${field}`);
  if (!isRecord(value)) throw invalid(`${path} must be a GeoJSON object.`);
  if (depth > MAX_DEPTH) throw invalid(`${path} is nested too deep.`);
  const { type, geometry, features, geometries, coordinates } = value;
  if (type === 'FeatureCollection') {
    for (const [i, feature] of listIn(features, at('features')).entries()) {
      if (!isRecord(feature) || feature.type !== 'Feature')
        throw invalid(`${at(`features[${i}]`)} must be a Feature.`);
      yield* polygonsOf(feature, at(`features[${i}]`), depth + 1);
    }
    return;
  }
  if (type === 'Feature') {
    // RFC 7946, 3.2: an unlocated feature has null. It changes nothing.
    if (geometry !== null) yield* polygonsOf(geometry, at('geometry'), depth + 1);
    return;
  }
  if (type === 'GeometryCollection') {
    for (const [i, one] of listIn(geometries, at('geometries')).entries()) {
      yield* polygonsOf(one, at(`geometries[${i}]`), depth + 1);
    }
    return;
  }
  yield* shapesOf(type, coordinates, at);
}

const SHAPES: Readonly<Record<string, (coordinates: unknown, path: string) => Iterable<Polygon>>> = {
  Point: (position, path) => [polygonOfLine([pointIn(position, path)])],
  MultiPoint: (points, path) => lineIn(points, path, 0).map((point) => polygonOfLine([point])),
  LineString: (line, path) => [polygonOfLine(lineIn(line, path, 2))],
  MultiLineString: (lines, path) =>
    listIn(lines, path).map((line, i) => polygonOfLine(lineIn(line, `${path}[${i}]`, 2))),
  Polygon: (rings, path) => [ringsIn(rings, path)],
  MultiPolygon: (polygons, path) => listIn(polygons, path).map((rings, i) => ringsIn(rings, `${path}[${i}]`)),
};

function* shapesOf(type: unknown, coordinates: unknown, at: (field: string) => string): Generator<Polygon> {
  const shapes = typeof type === 'string' && Object.hasOwn(SHAPES, type) ? SHAPES[type] : undefined;
  if (!shapes) {
    const known = [...Object.keys(SHAPES), 'GeometryCollection', 'Feature', 'FeatureCollection'].join(', ');
    throw invalid(`${at('type')} must be one of ${known}.`);
  }
  // RFC 7946, 3.1: an empty array is a geometry without a place.
  if (Array.isArray(coordinates) && coordinates.length === 0) return;
  yield* shapes(coordinates, at('coordinates'));
}

function listIn(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalid(`${path} must be a list.`);
}

function ringsIn(value: unknown, path: string): Polygon {
  const rings = listIn(value, path);
  if (rings.length === 0) throw invalid(`${path} must have a ring.`);
  return rings.map((ring, i) => lineIn(ring, `${path}[${i}]`, 3));
}

function lineIn(value: unknown, path: string, least: number): readonly Point[] {
  const points = listIn(value, path);
  if (points.length < least) throw invalid(`${path} must have at least ${least} positions.`);
  return points.map((point, i) => pointIn(point, `${path}[${i}]`));
}

function pointIn(value: unknown, path: string): Point {
  const [x, y] = Array.isArray(value) ? value : [];
  if (typeof x !== 'number' || typeof y !== 'number') {
    throw invalid(`${path} must be a position: longitude and latitude.`);
  }
  const fault = faultOfPoints([[x, y]], DEGREES);
  if (fault === null) return [x, y];
  throw invalid(`${path} ${fault}.`);
}
