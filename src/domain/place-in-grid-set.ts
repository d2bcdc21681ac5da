/**
 * Changed places in the CRS of a grid set. Never misses a tile: edges are followed to within a pixel of the deepest
 * zoom, and rings that cannot be converted become a box or the whole extent.
 */

import type { Pace } from '../lib/yielding.ts';
import { type Bounds, boundsAround, boundsOfPoints, type Polygon, polygonOfBounds } from './bounds.ts';
import { type GridSet, METERS_PER_DEGREE } from './grid-set.ts';
import { type Point, projectionOf, projectionOfSrs } from './projection.ts';
import { sameSrs } from './srs.ts';

/** Where on earth something has changed. Points and lines are rings that enclose nothing. */
export interface ChangedPlace {
  /** EPSG code of a CRS that `projectionOfSrs` supports. */
  readonly srs: number;
  readonly polygons: readonly Polygon[];
}

export interface PlacedPolygons {
  readonly polygons: readonly Polygon[];
  /** Metres that may be missing at curved edges; 0: it is exact. */
  readonly tolerance: number;
}

type Ring = readonly Point[];
type Convert = (x: number, y: number) => Point | null;

/** Metres. */
const MIN_TOLERANCE = 0.05;
/** An edge is cut in two at most so often: into 1024 parts. */
const MAX_DEPTH = 10;
/** Edges are cut so often in any case: a curve may cross its chord in the middle. */
const MIN_DEPTH = 2;
/** Points that all polygons of one place may have together; `checkArea` has the same limit. */
export const MAX_POINTS = 10_000;
/** Points that are cut between two calls of `pace`, and that cost as much as one that is converted. */
const POINTS_PER_STEP = 1024;
const CUTS_PER_POINT = 16;
const HALF_CIRCLE = 180;
const MAX_LATITUDE = 90;

/**
 * `zoom`: the deepest one that matters. `pace` counts points. A shape that would take more than `maxPoints` in the grid
 * set becomes a simpler one, so that neither time nor memory depends on how it was drawn.
 */
export async function polygonsIn(
  gridSet: GridSet,
  zoom: number,
  { srs, polygons }: ChangedPlace,
  pace: Pace,
  maxPoints = MAX_POINTS,
): Promise<PlacedPolygons> {
  if (sameSrs(srs, gridSet.srs)) return { polygons: withinLimit(polygons, maxPoints), tolerance: 0 };
  const everywhere = { polygons: [polygonOfBounds(gridSet.extent)], tolerance: 0 };
  const from = projectionOfSrs(srs);
  const to = projectionOf(gridSet);
  const window = to?.boundsToWgs84(gridSet.extent);
  if (!from || !to || !window) return everywhere;
  const pixel = (gridSet.levels[zoom]?.resolution ?? 0) * gridSet.metersPerUnit;
  const tolerance = Math.max(pixel, MIN_TOLERANCE);
  for (const form of formsOf(polygons)) {
    if (countPoints(form) > maxPoints) continue;
    const follower = (convert: Convert, within: number) => createFollower(convert, within, pace, maxPoints);
    const onEarth = follower((x, y) => from.toLonLat(x, y), tolerance / 2 / METERS_PER_DEGREE);
    const inGrid = follower((x, y) => to.fromLonLat(x, y), tolerance / 2 / gridSet.metersPerUnit);
    const placed: Polygon[] = [];
    for (const polygon of form) {
      const rings: (Ring | null)[] = [];
      for (const ring of polygon) {
        const box = () => from.boundsToWgs84(boundsOfPoints(ring));
        const inside = await clip(unbroken(await onEarth.follow(ring), box), window, pace);
        if (inside.length > 0) rings.push(await inGrid.follow(inside));
      }
      if (rings.includes(null)) placed.push(polygonOfBounds(gridSet.extent));
      else if (rings.length > 0) placed.push(rings.filter((ring) => ring !== null));
    }
    if (onEarth.isFull || inGrid.isFull) continue;
    return { polygons: placed, tolerance: onEarth.curved || inGrid.curved ? tolerance : 0 };
  }
  return everywhere;
}

/** The first form that has few enough points, or else one box. */
export function withinLimit(polygons: readonly Polygon[], max = MAX_POINTS): readonly Polygon[] {
  let simplest = polygons;
  for (const form of formsOf(polygons)) {
    if (countPoints(form) <= max) return form;
    simplest = form;
  }
  return simplest;
}

/** The polygons, then simpler forms: a box for each polygon, and one box. */
function* formsOf(polygons: readonly Polygon[]): Generator<readonly Polygon[]> {
  yield polygons;
  const boxes = polygons.map((polygon) => boundsOfPoints(polygon.flat()));
  yield boxes.map(polygonOfBounds);
  if (boxes.length > 1) yield [polygonOfBounds(boundsAround(boxes))];
}

export function countPoints(polygons: readonly Polygon[]): number {
  return polygons.reduce((sum, polygon) => polygon.reduce((all, { length }) => all + length, sum), 0);
}

/** Converts rings, with as many points as it takes to stay within `tolerance` of the true curve, until it is full. */
function createFollower(convert: Convert, tolerance: number, pace: Pace, maxPoints: number) {
  let curved = false;
  let left = maxPoints;

  /** Adds the points between two others, and the second. False: it cannot be converted. */
  function add(to: Point[], a: Point, b: Point, start: Point, end: Point, depth: number): boolean {
    const middle: Point = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
    const there = convert(...middle);
    if (!there) return false;
    const away = distance(there, start, end);
    if (away > tolerance / 1000) curved = true;
    const straight = away <= tolerance && (depth >= MIN_DEPTH || away <= tolerance / 1000);
    if (straight || depth >= MAX_DEPTH) {
      to.push(end);
      return true;
    }
    return add(to, a, middle, start, there, depth + 1) && add(to, middle, b, there, end, depth + 1);
  }

  return {
    get curved() {
      return curved;
    },
    get isFull() {
      return left < 0;
    },
    /** Null when a part of it cannot be converted, or the follower is full. */
    async follow(this: void, ring: Ring): Promise<Ring | null> {
      const points: Point[] = [];
      for (const [i, a] of ring.entries()) {
        const b = ring[(i + 1) % ring.length] ?? a;
        const [start, end] = [convert(...a), convert(...b)];
        const before = points.length;
        if (left < 0 || !start || !end || !add(points, a, b, start, end, 0)) return null;
        left -= points.length - before;
        await pace(points.length - before);
      }
      return points;
    },
  };
}

/** From a point to the line through two others. */
function distance([x, y]: Point, [x1, y1]: Point, [x2, y2]: Point): number {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length === 0) return Math.hypot(x - x1, y - y1);
  return Math.abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / length;
}

/** A ring that jumps across the antimeridian, or cannot be converted, becomes the box around it. */
function unbroken(ring: Ring | null, box: () => Bounds | null): Ring {
  const jumps = ring?.some(([x], i) => Math.abs(x - (ring[(i + 1) % ring.length]?.[0] ?? x)) > HALF_CIRCLE);
  if (ring && !jumps) return ring;
  const world = { minX: -HALF_CIRCLE, minY: -MAX_LATITUDE, maxX: HALF_CIRCLE, maxY: MAX_LATITUDE };
  return polygonOfBounds(box() ?? world)[0] ?? [];
}

/** Sutherland and Hodgman: side by side of the window. */
async function clip(ring: Ring, { minX, minY, maxX, maxY }: Bounds, pace: Pace): Promise<Ring> {
  const left = await cut(ring, ([x]) => x - minX, pace);
  const right = await cut(left, ([x]) => maxX - x, pace);
  const bottom = await cut(right, ([, y]) => y - minY, pace);
  return cut(bottom, ([, y]) => maxY - y, pace);
}

/** The part where `inside` is not negative. */
async function cut(ring: Ring, inside: (point: Point) => number, pace: Pace): Promise<Ring> {
  const part: Point[] = [];
  let before = ring.at(-1) ?? [0, 0];
  let was = inside(before);
  for (const [i, point] of ring.entries()) {
    const is = inside(point);
    const share = was / (was - is);
    if (was < 0 !== is < 0)
      part.push([before[0] + (point[0] - before[0]) * share, before[1] + (point[1] - before[1]) * share]);
    if (is >= 0) part.push(point);
    [before, was] = [point, is];
    if (i % POINTS_PER_STEP === 0) await pace(POINTS_PER_STEP / CUTS_PER_POINT);
  }
  return part;
}
