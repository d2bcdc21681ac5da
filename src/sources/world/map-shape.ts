import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { feature, mesh, neighbors } from 'topojson-client';
import type { GeometryCollection, MultiPolygon, Polygon, Topology } from 'topojson-specification';
import type { Bounds } from '../../domain/bounds.ts';
import { type MapProjection, projectLatitude } from './map-view.ts';

/** A ring or a line in degrees of a plane. Longitudes continue across the antimeridian: a shape never jumps. */
export interface MapShape extends Bounds {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** It goes around the world more than once, so it must not be repeated every 360 degrees. */
  readonly unrolled: boolean;
}

/** Longitude and latitude of each point. */
type Track = readonly (readonly number[])[];

const POLE_LATITUDE = 89.9;

function createRing(projection: MapProjection, track: Track): MapShape | null {
  if (track.every(isAtPole)) return null;
  const ring = unwrapped(track);
  const turn = longitude(ring.at(-1)) - longitude(ring[0]);
  if (Math.abs(turn) < 180) return shapeOf(projection, ring);
  return { ...shapeOf(projection, polarRing(ring, turn)), unrolled: true };
}

/** Drops the lines that the data have along the edges of their sheet: the antimeridian and the poles. */
function createLines(projection: MapProjection, track: Track): MapShape[] {
  const cuts = track.flatMap((point, place) => (isSheetEdge(track[place - 1], point) ? place : []));
  return [0, ...cuts]
    .map((start, cut) => track.slice(start, cuts[cut]))
    .filter((line) => line.length > 1)
    .map((line) => shapeOf(projection, unwrapped(line)));
}

/** A ring around a pole is laid out three times and closed at the pole, so that no seam is visible. */
function polarRing(ring: Track, turn: number): Track {
  const start = Math.round((-180 - longitude(ring[0])) / 360) * 360;
  const laps = [-turn, 0, turn].flatMap((lap) =>
    ring.slice(0, -1).map((point) => [longitude(point) + lap + start, latitude(point)]),
  );
  const pole = latitude(ring[0]) < 0 ? -90 : 90;
  const first = laps[0] ?? [];
  return [...laps, [longitude(laps.at(-1)), pole], [longitude(first), pole], first];
}

function shapeOf(projection: MapProjection, track: Track): MapShape {
  const [x, y] = [new Float64Array(track.length), new Float64Array(track.length)];
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let place = 0; place < track.length; place++) {
    const right = longitude(track[place]);
    const up = projectLatitude(projection, latitude(track[place]));
    x[place] = right;
    y[place] = up;
    if (right < minX) minX = right;
    if (right > maxX) maxX = right;
    if (up < minY) minY = up;
    if (up > maxY) maxY = up;
  }
  return { x, y, unrolled: false, minX, minY, maxX, maxY };
}

function unwrapped(track: Track): Track {
  const jumps = (point: readonly number[], place: number) =>
    Math.abs(longitude(point) - longitude(track[Math.max(0, place - 1)])) > 180;
  if (!track.some(jumps)) return track;
  let shift = 0;
  return track.map((point, place) => {
    if (jumps(point, place)) shift += longitude(point) > 0 ? -360 : 360;
    return [longitude(point) + shift, latitude(point)];
  });
}

function isSheetEdge(from: readonly number[] | undefined, to: readonly number[]): boolean {
  if (!from) return false;
  return (isAtAntimeridian(from) && isAtAntimeridian(to)) || (isAtPole(from) && isAtPole(to));
}

function isAtAntimeridian(point: readonly number[]): boolean {
  return Math.abs(Math.abs(longitude(point) % 360) - 180) < 1e-9;
}

function isAtPole(point: readonly number[]): boolean {
  return Math.abs(latitude(point)) > POLE_LATITUDE;
}

function longitude(point: readonly number[] | undefined): number {
  return point?.[0] ?? 0;
}

function latitude(point: readonly number[] | undefined): number {
  return point?.[1] ?? 0;
}

/** Natural Earth's scales, 1:110 million to 1:10 million. */
export type AtlasDetail = '110m' | '50m' | '10m';

export interface Country {
  readonly name: string;
  /** Outer rings and holes alike: they are filled by the even-odd rule. */
  readonly rings: readonly MapShape[];
}

/** One detail of the world in one plane. */
export interface WorldAtlas {
  readonly countries: readonly Country[];
  /** For each country, the indexes of its neighbours in `countries`. */
  readonly neighbours: readonly (readonly number[])[];
  readonly coasts: readonly MapShape[];
  readonly borders: readonly MapShape[];
}

type Named = { readonly name: string };
type Countries = Omit<GeometryCollection, 'geometries'> & { geometries: (Area & { properties: Named })[] };
type Area = Polygon<Named> | MultiPolygon<Named>;

/** Takes from a few milliseconds for `110m` to a second for `10m`, and blocks the thread. */
export function loadWorldAtlas(detail: AtlasDetail, projection: MapProjection): WorldAtlas {
  const path = createRequire(import.meta.url).resolve(`world-atlas/countries-${detail}.json`);
  const topology = JSON.parse(readFileSync(path, 'utf8')) as Topology<{ countries: Countries }>;
  const { countries } = topology.objects;
  const linesOf = (isWanted: (one: object, other: object) => boolean) =>
    mesh(topology, countries, isWanted).coordinates.flatMap((line) => createLines(projection, line));
  return {
    countries: countries.geometries.map((country) => ({
      name: country.properties.name,
      rings: ringsOf(topology, country).flatMap((ring) => createRing(projection, ring) ?? []),
    })),
    neighbours: neighbors(countries.geometries),
    coasts: linesOf((one, other) => one === other),
    borders: linesOf((one, other) => one !== other),
  };
}

function ringsOf(topology: Topology, country: Area): readonly number[][][] {
  if (country.type === 'Polygon') return feature(topology, country).geometry.coordinates;
  return feature(topology, country).geometry.coordinates.flat();
}
