import type { Country, MapShape, WorldAtlas } from './map-shape.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface GazetteerEntry {
  readonly name: string;
  /** Number of its colour, different from its neighbours'; -1: land under ice. */
  readonly tint: number;
  /** Where its name is drawn, in degrees of the plane. Computed on the first call, in a millisecond. */
  readonly place: () => Point;
  /** Width of its largest part, in degrees of the plane. */
  readonly width: number;
  readonly area: number;
}

export type Gazetteer = ReadonlyMap<string, GazetteerEntry>;

const ICE = -1;
const UNDER_ICE: ReadonlySet<string> = new Set(['Antarctica', 'Greenland']);

/** One for all details of a plane, so that a country keeps its tint and its name its place at every zoom. */
export function createGazetteer(atlas: WorldAtlas, tints: number): Gazetteer {
  const tintOf = tintCountries(atlas, tints);
  const entries = atlas.countries.flatMap((country, place) => {
    const ring = largestRing(country.rings);
    return ring ? [gazetteerEntry(country, ring, tintOf[place] ?? 0)] : [];
  });
  return new Map(entries.map((entry) => [entry.name, entry]));
}

function gazetteerEntry(country: Country, ring: MapShape, tint: number): GazetteerEntry {
  const { name } = country;
  let point: Point | null = null;
  return {
    name,
    tint: UNDER_ICE.has(name) ? ICE : tint,
    place() {
      point ??= roomiestPoint(ring);
      return point;
    },
    width: ring.maxX - ring.minX,
    area: ringArea(ring),
  };
}

/** Each country gets the least used tint that none of its neighbours has. */
function tintCountries(atlas: WorldAtlas, tints: number): number[] {
  const tintOf: number[] = [];
  const uses = Array.from({ length: tints }, () => 0);
  for (const neighbours of atlas.neighbours) {
    const taken = new Set(neighbours.map((neighbour) => tintOf[neighbour]));
    const free = uses.map((_, tint) => tint).filter((tint) => !taken.has(tint));
    const tint = free.reduce(
      (best, next) => ((uses[next] ?? 0) < (uses[best] ?? 0) ? next : best),
      free[0] ?? 0,
    );
    uses[tint] = (uses[tint] ?? 0) + 1;
    tintOf.push(tint);
  }
  return tintOf;
}

/** Names are wide and low: vertical room counts this many times as much as horizontal room. */
const FLATNESS = 2;
const CELLS = 10;
const ROUNDS = 3;
const MAX_CORNERS = 120;

function largestRing(rings: readonly MapShape[]): MapShape | null {
  const sized = rings.map((ring) => ({ ring, area: ringArea(ring) }));
  sized.sort((a, b) => b.area - a.area);
  return sized[0]?.ring ?? null;
}

/** Approximates the point furthest from the ring's edge, by a lattice that gets finer around the best point so far. */
function roomiestPoint(ring: MapShape): Point {
  const outline = coarseOutline(ring);
  let best = { x: (ring.minX + ring.maxX) / 2, y: (ring.minY + ring.maxY) / 2, room: -Infinity };
  let [width, height] = [ring.maxX - ring.minX, ring.maxY - ring.minY];
  for (let round = 0; round < ROUNDS; round++) {
    const centre = best;
    for (let cell = 0; cell < CELLS * CELLS; cell++) {
      const x = centre.x + width * (((cell % CELLS) + 0.5) / CELLS - 0.5);
      const y = centre.y + height * ((Math.floor(cell / CELLS) + 0.5) / CELLS - 0.5);
      const room = roomAt(outline, x, y, best.room);
      if (room > best.room) best = { x, y, room };
    }
    width /= CELLS / 3;
    height /= CELLS / 3;
  }
  return best;
}

type Outline = readonly Point[];

function coarseOutline(ring: MapShape): Outline {
  const step = Math.max(1, Math.ceil(ring.x.length / MAX_CORNERS));
  const places = Array.from({ length: Math.ceil(ring.x.length / step) }, (_, place) => place * step);
  return places.map((place) => ({ x: ring.x[place] ?? 0, y: ring.y[place] ?? 0 }));
}

/** Distance to the outline, negative outside of it; if it is at most `least`, any number up to `least`. */
function roomAt(outline: Outline, x: number, y: number, least: number): number {
  let inside = false;
  let nearest = Infinity;
  let a = outline.at(-1);
  for (const b of outline) {
    if (!a) return nearest;
    if (a.y > y !== b.y > y && x < a.x + ((b.x - a.x) * (y - a.y)) / (b.y - a.y)) inside = !inside;
    nearest = Math.min(nearest, squaredDistance(x, y, a, b));
    if (least > 0 && nearest <= least ** 2) return least;
    a = b;
  }
  return inside ? Math.sqrt(nearest) : -Math.sqrt(nearest);
}

function squaredDistance(x: number, y: number, a: Point, b: Point): number {
  const [dx, dy] = [b.x - a.x, (b.y - a.y) * FLATNESS];
  const [px, py] = [x - a.x, (y - a.y) * FLATNESS];
  const along =
    dx === 0 && dy === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / (dx * dx + dy * dy)));
  return (px - along * dx) ** 2 + (py - along * dy) ** 2;
}

function ringArea(ring: MapShape): number {
  let doubled = 0;
  for (let place = 1; place < ring.x.length; place++) {
    const [ax, ay] = [ring.x[place - 1] ?? 0, ring.y[place - 1] ?? 0];
    const [bx, by] = [ring.x[place] ?? 0, ring.y[place] ?? 0];
    doubled += ax * by - bx * ay;
  }
  return Math.abs(doubled / 2);
}
