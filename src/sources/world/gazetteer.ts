import { largestRing, roomiestPoint } from './label-point.ts';
import type { MapShape } from './map-shape.ts';
import type { Country, WorldAtlas } from './world-atlas.ts';

/** What is known of a country beside its outline. */
export interface GazetteerEntry {
  readonly name: string;
  /** Countries that touch have different ones; -1 is land under ice. */
  readonly tint: number;
  /** Where its name stands, in degrees of the plane. */
  readonly x: number;
  readonly y: number;
  /** Of its largest part, in degrees of the plane. */
  readonly width: number;
  readonly area: number;
}

export type Gazetteer = ReadonlyMap<string, GazetteerEntry>;

const ICE = -1;
const UNDER_ICE: ReadonlySet<string> = new Set(['Antarctica', 'Greenland']);

/** All details of a plane share one gazetteer, so that a country keeps its tint and its name its place. */
export function createGazetteer(atlas: WorldAtlas, tints: number): Gazetteer {
  const tintOf = tintCountries(atlas, tints);
  const entries = atlas.countries.flatMap((country, place) => {
    const ring = largestRing(country.rings);
    return ring ? [entryOf(country, ring, tintOf[place] ?? 0)] : [];
  });
  return new Map(entries.map((entry) => [entry.name, entry]));
}

function entryOf(country: Country, ring: MapShape, tint: number): GazetteerEntry {
  const point = roomiestPoint(ring);
  return {
    name: country.name,
    tint: UNDER_ICE.has(country.name) ? ICE : tint,
    x: point.x,
    y: point.y,
    width: ring.maxX - ring.minX,
    area: Math.abs(point.area),
  };
}

/** Each country takes the tint that is used least among those its neighbours have left. */
function tintCountries(atlas: WorldAtlas, tints: number): number[] {
  const chosen: number[] = [];
  const uses = Array.from({ length: tints }, () => 0);
  for (const neighbours of atlas.neighbours) {
    const taken = new Set(neighbours.map((neighbour) => chosen[neighbour]));
    const free = uses.map((_, tint) => tint).filter((tint) => !taken.has(tint));
    const tint = free.reduce(
      (best, next) => ((uses[next] ?? 0) < (uses[best] ?? 0) ? next : best),
      free[0] ?? 0,
    );
    uses[tint] = (uses[tint] ?? 0) + 1;
    chosen.push(tint);
  }
  return chosen;
}
