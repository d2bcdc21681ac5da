import type { Pace } from '../lib/yielding.ts';
import { boundsAround, boundsOfPoints, type Polygon } from './bounds.ts';
import { countPoints, withinLimit } from './place-in-grid-set.ts';
import type { Point } from './projection.ts';

/** Of the larger side of the box around all polygons: the first tolerance. */
const FINEST = 1 / 100_000;
const POINTS_PER_STEP = 1024;

/**
 * With at most so many points: points that are close to the one before are left out, within a distance that grows until few enough
 * are left. A ring that would vanish becomes a box. `pace` counts points.
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
  const kept: Point[] = [];
  let [lastX, lastY] = [Infinity, Infinity];
  for (const [i, point] of ring.entries()) {
    const [x, y] = point;
    if (Math.hypot(x - lastX, y - lastY) >= tolerance || lastX === Infinity) {
      kept.push(point);
      [lastX, lastY] = point;
    }
    if (i % POINTS_PER_STEP === 0) await pace(POINTS_PER_STEP);
  }
  if (kept.length >= 3) return kept;
  const { minX, minY, maxX, maxY } = boundsOfPoints(ring);
  return [
    [minX, minY],
    [maxX, minY],
    [maxX, maxY],
    [minX, maxY],
  ];
}
