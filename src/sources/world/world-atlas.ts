import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { feature, mesh, neighbors } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { createLines, createRing, type MapShape, type Position } from './map-shape.ts';
import type { MapProjection } from './map-view.ts';

/** Natural Earth's scales, 1:110 million to 1:10 million. */
export type AtlasDetail = '110m' | '50m' | '10m';

type Countries = GeometryCollection<{ name: string }>;
type CountriesTopology = Topology<{ countries: Countries; land: GeometryCollection }>;

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

/** Takes 10 ms for `110m` to about a second for `10m`, and as long as it takes it blocks the thread. */
export function loadWorldAtlas(detail: AtlasDetail, projection: MapProjection): WorldAtlas {
  const topology = readTopology(detail);
  const isFixed = meetingPointsOf(topology);
  const { countries } = topology.objects;
  const linesOf = (lines: Position[][]) =>
    lines.flatMap((positions) => createLines(projection, { positions, isFixed }));
  return {
    countries: feature(topology, countries).features.map(({ geometry, properties }) => ({
      name: properties.name,
      rings: ringsOf(geometry).flatMap((positions) => createRing(projection, { positions, isFixed }) ?? []),
    })),
    neighbours: neighbors(countries.geometries),
    coasts: linesOf(mesh(topology, countries, (a, b) => a === b).coordinates),
    borders: linesOf(mesh(topology, countries, (a, b) => a !== b).coordinates),
  };
}

function readTopology(detail: AtlasDetail): CountriesTopology {
  const path = createRequire(import.meta.url).resolve(`world-atlas/countries-${detail}.json`);
  return JSON.parse(readFileSync(path, 'utf8')) as CountriesTopology;
}

function ringsOf(geometry: GeoJSON.Geometry): Position[][] {
  if (geometry.type === 'Polygon') return geometry.coordinates;
  return geometry.type === 'MultiPolygon' ? geometry.coordinates.flat() : [];
}

/** Arcs end where three or more lines meet, and neighbours share arcs: so both smooth a border alike. */
function meetingPointsOf(topology: CountriesTopology): (position: Position) => boolean {
  const { scale, translate } = topology.transform ?? { scale: [1, 1], translate: [0, 0] };
  const ends = new Set<number>();
  const keyOf = (column: number, row: number) => column * 2 ** 20 + row;
  for (const arc of topology.arcs) {
    let [column = 0, row = 0] = arc[0] ?? [];
    ends.add(keyOf(column, row));
    for (const [dx = 0, dy = 0] of arc.slice(1)) {
      column += dx;
      row += dy;
    }
    ends.add(keyOf(column, row));
  }
  return ([longitude = 0, latitude = 0]) =>
    ends.has(
      keyOf(
        Math.round((longitude - translate[0]) / scale[0]),
        Math.round((latitude - translate[1]) / scale[1]),
      ),
    );
}
