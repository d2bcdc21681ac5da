import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getOrMake } from '../../lib/get-or-make.ts';
import { createLines, createRing, type MapShape, type Track } from './map-shape.ts';
import type { MapProjection } from './map-view.ts';

/** Natural Earth's scales, 1:110 million to 1:10 million. */
export type AtlasDetail = '110m' | '50m' | '10m';

/** As TopoJSON has it: borders and coasts in arcs, which neighbours share; ~n is arc n backwards. */
interface Topology {
  readonly transform: { readonly scale: Pair; readonly translate: Pair };
  /** Each point but the first as its distance from the one before, in steps of `scale`. */
  readonly arcs: readonly (readonly Pair[])[];
  readonly objects: { readonly countries: { readonly geometries: readonly Geometry[] } };
}
type Pair = readonly [x: number, y: number];
type Geometry = { readonly properties: { readonly name: string } } & (
  | { readonly type: 'Polygon'; readonly arcs: readonly (readonly number[])[] }
  | { readonly type: 'MultiPolygon'; readonly arcs: readonly (readonly (readonly number[])[])[] }
);

export interface Country {
  readonly name: string;
  /** Outer rings and holes alike: they are filled by the even-odd rule. */
  readonly rings: readonly MapShape[];
}

/** One detail of the world in one plane. */
export interface WorldAtlas {
  readonly countries: readonly Country[];
  /** By place in `countries`. */
  readonly neighbours: readonly (readonly number[])[];
  readonly coasts: readonly MapShape[];
  readonly borders: readonly MapShape[];
}

/** Takes a few milliseconds for `110m` to some tenths of a second for `10m`, and as long as it takes it blocks the thread. */
export function loadWorldAtlas(detail: AtlasDetail, projection: MapProjection): WorldAtlas {
  const topology = readTopology(detail);
  const { geometries } = topology.objects.countries;
  const arcs = decodeArcs(topology);
  const owners = ownersOf(geometries);
  const linesOf = (isWanted: (owners: ReadonlySet<number>) => boolean) =>
    arcs.flatMap((arc, place) => {
      const wanted = owners.get(place);
      return wanted && isWanted(wanted) ? createLines(projection, arc) : [];
    });
  return {
    countries: geometries.map((geometry) => ({
      name: geometry.properties.name,
      rings: ringsOf(geometry).flatMap((ring) => createRing(projection, joined(arcs, ring)) ?? []),
    })),
    neighbours: neighboursOf(geometries.length, owners),
    coasts: linesOf(({ size }) => size === 1),
    borders: linesOf(({ size }) => size > 1),
  };
}

function readTopology(detail: AtlasDetail): Topology {
  const path = createRequire(import.meta.url).resolve(`world-atlas/countries-${detail}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as Topology;
}

function decodeArcs({ arcs, transform: { scale, translate } }: Topology): readonly Track[] {
  return arcs.map((arc) => {
    const track = emptyTrack(arc.length);
    let [column, row] = [0, 0];
    for (const [place, [dx, dy]] of arc.entries()) {
      column += dx;
      row += dy;
      track.longitudes[place] = column * scale[0] + translate[0];
      track.latitudes[place] = row * scale[1] + translate[1];
    }
    fixEnds(track, 0, arc.length - 1);
    return track;
  });
}

function emptyTrack(length: number): Track {
  const bytes = new Uint8Array(length);
  return { longitudes: new Float64Array(length), latitudes: new Float64Array(length), fixed: bytes };
}

/** Arcs end where three or more lines meet, and neighbours share arcs: so both smooth a border alike. */
function fixEnds({ fixed }: Track, first: number, last: number): void {
  fixed[first] = 1;
  fixed[last] = 1;
}

/** Each arc begins with the point that the one before ends with. */
function joined(arcs: readonly Track[], ring: readonly number[]): Track {
  const parts = ring.map((index) => arcs[index < 0 ? ~index : index] ?? emptyTrack(1));
  const track = emptyTrack(parts.reduce((sum, { fixed }) => sum + fixed.length - 1, 1));
  let at = 0;
  for (const [turn, { longitudes, latitudes }] of parts.entries()) {
    const last = longitudes.length - 1;
    const isBackwards = (ring[turn] ?? 0) < 0;
    for (let place = 0; place <= last; place++) {
      const from = isBackwards ? last - place : place;
      track.longitudes[at + place] = longitudes[from] ?? 0;
      track.latitudes[at + place] = latitudes[from] ?? 0;
    }
    fixEnds(track, at, at + last);
    at += last;
  }
  return track;
}

function ringsOf(geometry: Geometry): readonly (readonly number[])[] {
  return geometry.type === 'Polygon' ? geometry.arcs : geometry.arcs.flat();
}

/** The countries along each arc. */
function ownersOf(geometries: readonly Geometry[]): ReadonlyMap<number, ReadonlySet<number>> {
  const owners = new Map<number, Set<number>>();
  for (const [country, geometry] of geometries.entries()) {
    for (const index of ringsOf(geometry).flat()) {
      getOrMake(owners, index < 0 ? ~index : index, () => new Set<number>()).add(country);
    }
  }
  return owners;
}

function neighboursOf(count: number, owners: ReadonlyMap<number, ReadonlySet<number>>): number[][] {
  const neighbours = Array.from({ length: count }, () => new Set<number>());
  for (const along of owners.values()) {
    for (const one of along) for (const other of along) if (one !== other) neighbours[one]?.add(other);
  }
  return neighbours.map((found) => [...found]);
}
