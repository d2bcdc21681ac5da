import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { feature, mesh, neighbors } from 'topojson-client';
import type { GeometryCollection, MultiPolygon, Polygon, Topology } from 'topojson-specification';
import { createLines, createRing, type MapShape } from './map-shape.ts';
import type { MapProjection } from './map-view.ts';

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
  /** By place in `countries`. */
  readonly neighbours: readonly (readonly number[])[];
  readonly coasts: readonly MapShape[];
  readonly borders: readonly MapShape[];
}

type Named = { readonly name: string };
type Countries = Omit<GeometryCollection, 'geometries'> & { geometries: (Area & { properties: Named })[] };
type Area = Polygon<Named> | MultiPolygon<Named>;

/** Takes a few milliseconds for `110m` to a second for `10m`, and blocks the thread. */
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
