/** Merges many places into a few areas: distant ones stay apart, and beyond a number of parts neighbours are merged. */
import {
  type Bounds,
  boundsAround,
  boundsOfPoints,
  type Polygon,
  polygonOfBounds,
} from '../domain/bounds.ts';
import { type ChangedPlace, countPoints } from '../domain/place-in-grid-set.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { createPace, type Pace } from '../lib/yielding.ts';
import type { Change } from './change-options.ts';

interface Part {
  readonly polygon: Polygon;
  readonly box: Bounds;
}

/** Limit for one CRS. */
const MAX_AREAS = 16;
/** Limit for one area. */
const MAX_PARTS = 64;
/** Parts, counted on each level of the split, and hundreds of points. */
const PARTS_PER_TURN = 50;
const POINTS_PER_PART = 100;
/** Two halves become two areas if their boxes together are smaller than this share of the box around both. */
const WORTH_SPLITTING = 0.5;

/** Yields to the event loop between parts. */
export async function mergePlaces(places: Iterable<ChangedPlace>): Promise<readonly ChangedPlace[]> {
  const bySrs = new Map<number, Map<string, Part>>();
  const pace = createPace(PARTS_PER_TURN);
  for (const { srs, polygons } of places) {
    const parts = getOrCreate(bySrs, srs, () => new Map<string, Part>());
    for (const polygon of polygons) {
      parts.set(JSON.stringify(polygon), { polygon, box: boundsOfPoints(polygon.flat()) });
      await pace(1 + countPoints([polygon]) / POINTS_PER_PART);
    }
  }
  const merged: ChangedPlace[] = [];
  for (const [srs, parts] of bySrs) {
    for (const area of await areasOf([...parts.values()], MAX_AREAS, pace)) {
      const groups =
        area.length > MAX_PARTS ? await areasOf(area, MAX_PARTS, pace, true) : area.map((part) => [part]);
      merged.push({ srs, polygons: groups.map(polygonOf) });
    }
  }
  return merged;
}

/** Merges changes of the same layers: one for each area, or one for everything. */
export async function mergeChanges(changes: Iterable<Change>): Promise<readonly Change[]> {
  const byLayers = new Map<string, { readonly layers: Change['layers']; places: ChangedPlace[] | null }>();
  for (const { layers, place } of changes) {
    const known = getOrCreate(byLayers, JSON.stringify(layers), () => ({ layers, places: [] }));
    if (place === null) known.places = null;
    else known.places?.push(place);
  }
  const merged: Change[] = [];
  for (const { layers, places } of byLayers.values()) {
    if (places === null) merged.push({ layers, place: null });
    else for (const place of await mergePlaces(places)) merged.push({ layers, place });
  }
  return merged;
}

/** At most `most` groups of neighbours; `always`: exactly that many, even if they are close together. */
async function areasOf(
  parts: readonly Part[],
  most: number,
  pace: Pace,
  always = false,
): Promise<readonly (readonly Part[])[]> {
  if (parts.length === 0) return [];
  if (most < 2 || parts.length === 1) return [parts];
  await pace(parts.length);
  const around = boxAround(parts);
  const wide = around.maxX - around.minX >= around.maxY - around.minY;
  const sorted = [...parts].sort((a, b) => centre(a, wide) - centre(b, wide));
  const middle = splitAt(sorted, wide, most);
  const halves = [sorted.slice(0, middle), sorted.slice(middle)];
  const room = halves.reduce((sum, half) => sum + roomOf(boxAround(half)), 0);
  if (!always && room > WORTH_SPLITTING * roomOf(around)) return [parts];
  // Each half gets as many groups as it has parts, when they are few.
  const [first = [], second = []] = halves;
  const share = Math.max(1, Math.min(first.length, Math.max(Math.floor(most / 2), most - second.length)));
  return [
    ...(await areasOf(first, share, pace, always)),
    ...(await areasOf(second, most - share, pace, always)),
  ];
}

/** At the widest gap if each part may be a group of its own, otherwise in the middle. */
function splitAt(sorted: readonly Part[], wide: boolean, most: number): number {
  if (sorted.length > most) return Math.ceil(sorted.length / 2);
  let [at, widest, end] = [Math.ceil(sorted.length / 2), 0, -Infinity];
  for (const [i, { box }] of sorted.entries()) {
    const gap = (wide ? box.minX : box.minY) - end;
    if (i > 0 && gap > widest) [at, widest] = [i, gap];
    end = Math.max(end, wide ? box.maxX : box.maxY);
  }
  return at;
}

function polygonOf(parts: readonly Part[]): Polygon {
  const [only] = parts;
  return parts.length === 1 && only ? only.polygon : polygonOfBounds(boxAround(parts));
}

function boxAround(parts: readonly Part[]): Bounds {
  return boundsAround(parts.map(({ box }) => box));
}

function centre({ box }: Part, wide: boolean): number {
  return wide ? box.minX + box.maxX : box.minY + box.maxY;
}

function roomOf({ minX, minY, maxX, maxY }: Bounds): number {
  return (maxX - minX) * (maxY - minY);
}
