import { getOrCreate } from '../lib/get-or-create.ts';
import { Turnstile } from '../lib/semaphore.ts';
import { createPace, type Pace } from '../lib/yielding.ts';
import { type Chain, chainOf } from './area-chains.ts';
import { type AreaMask, joinMasks, maskOf } from './area-mask.ts';
import { type AreaShape, packPolygons, unpackPolygons } from './area-shape.ts';
import { boundsAround, boundsOfPoints, type MapPicture, type Polygon, polygonOfBounds } from './bounds.ts';
import type { GridSet } from './grid-set.ts';
import { countPoints, MAX_POINTS, polygonsIn, withinLimit } from './place-in-grid-set.ts';
import type { Point } from './projection.ts';
import { sameSrs } from './srs.ts';

export interface ShapeInCrs {
  readonly srs: number;
  readonly shape: AreaShape;
}

/** Converts and simplifies the shapes of large areas on another thread. */
export interface AreaPlacer {
  place(gridSet: GridSet, shape: ShapeInCrs): Promise<AreaShape>;
  outline(gridSet: GridSet, shape: ShapeInCrs): Promise<readonly Polygon[]>;
}

export interface PlaceableArea extends ShapeInCrs {
  readonly placer: AreaPlacer | null;
}

/** Converted or read in one turn of the event loop: some milliseconds. */
const POINTS_PER_TURN = 2000;
const EDGES_PER_TURN = 10_000;

const placed = new WeakMap<PlaceableArea, Map<string, Promise<Chain>>>();
/** Only one of the concurrent masks is worked on in a turn of the event loop. */
const turns = new Turnstile();

/** The part of a picture in the CRS of a grid set that at least one of the areas covers. */
export async function maskWithin(
  areas: readonly PlaceableArea[],
  gridSet: GridSet,
  picture: MapPicture,
): Promise<AreaMask> {
  const masks: AreaMask[] = [];
  for (const area of areas) {
    const mask = await maskOf(await placedIn(gridSet, area), picture, paced(EDGES_PER_TURN));
    if (mask === 'everything') return mask;
    masks.push(mask);
  }
  return joinMasks(masks);
}

/** The polygons of an area in the CRS of the grid set, simplified for tasks and consoles. */
export function outlineIn(gridSet: GridSet, { srs, shape, placer }: PlaceableArea) {
  return (placer ?? inTurns).outline(gridSet, { srs, shape });
}

/** The area in the CRS of a grid set, cached. Grid sets that differ only in their name share it. */
function placedIn(gridSet: GridSet, area: PlaceableArea): Promise<Chain> {
  const { extent, levels, projection } = gridSet;
  const { srs, shape, placer } = area;
  const key = JSON.stringify([gridSet.srs, projection, extent, levels.at(-1)?.resolution]);
  const known = getOrCreate(placed, area, () => new Map<string, Promise<Chain>>());
  return getOrCreate(known, key, async () => {
    try {
      const isThere = sameSrs(srs, gridSet.srs);
      const there = isThere ? shape : await (placer ?? inTurns).place(gridSet, { srs, shape });
      return await chainOf(there, paced(POINTS_PER_TURN));
    } catch (error) {
      known.delete(key);
      throw error;
    }
  });
}

/** `pace` counts points. */
export function createPlacer(pace: () => Pace): AreaPlacer {
  const converted = async (gridSet: GridSet, srs: number, polygons: readonly Polygon[]) =>
    (await polygonsIn(gridSet, gridSet.levels.length - 1, { srs, polygons }, pace(), Infinity)).polygons;
  return {
    place: async (gridSet, { srs, shape }) =>
      packPolygons(await converted(gridSet, srs, unpackPolygons(shape))),
    async outline(gridSet, { srs, shape }) {
      const few = await simplified(unpackPolygons(shape), MAX_POINTS, pace());
      return simplified(await converted(gridSet, srs, few), MAX_POINTS, pace());
    },
  };
}

const inTurns = createPlacer(() => paced(POINTS_PER_TURN));

function paced(perTurn: number): Pace {
  return createPace(perTurn, () => turns.pass());
}

/** The first tolerance, as a share of the larger side of the box around all polygons. */
const FINEST = 1 / 100_000;
const POINTS_PER_STEP = 1024;

/**
 * The polygons with at most `maxPoints`: points close to the one before are left out, within a distance that grows
 * until few enough are left. A ring that would vanish becomes a box. `pace` counts points.
 */
export async function simplified(polygons: readonly Polygon[], maxPoints: number, pace: Pace) {
  if (countPoints(polygons) <= maxPoints) return polygons;
  const { minX, minY, maxX, maxY } = boundsAround(
    polygons.map((polygon) => boundsOfPoints(polygon[0] ?? [])),
  );
  const side = Math.max(maxX - minX, maxY - minY);
  let coarser = polygons;
  for (let tolerance = side * FINEST; tolerance < side; tolerance *= 2) {
    const rest: Polygon[] = [];
    for (const polygon of coarser) {
      const rings: (readonly Point[])[] = [];
      for (const ring of polygon) rings.push(await thinned(ring, tolerance, pace));
      rest.push(rings);
    }
    coarser = rest;
    if (countPoints(coarser) <= maxPoints) return coarser;
  }
  return withinLimit(polygons, maxPoints);
}

async function thinned(ring: readonly Point[], tolerance: number, pace: Pace): Promise<readonly Point[]> {
  const corners: Point[] = [];
  let [lastX, lastY] = [Infinity, Infinity];
  for (const [i, point] of ring.entries()) {
    const [x, y] = point;
    if (Math.hypot(x - lastX, y - lastY) >= tolerance || lastX === Infinity) {
      corners.push(point);
      [lastX, lastY] = point;
    }
    if (i % POINTS_PER_STEP === 0) await pace(POINTS_PER_STEP);
  }
  if (corners.length >= 3) return corners;
  const [box = []] = polygonOfBounds(boundsOfPoints(ring));
  return box.slice(0, -1);
}
