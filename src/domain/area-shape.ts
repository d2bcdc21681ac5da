import { createHash } from 'node:crypto';
import type { Bounds, Polygon } from './bounds.ts';

/**
 * Polygons in one piece of memory, which threads can transfer and the garbage collector does not scan: their number;
 * for each the number of its rings and the lengths of these; then all points, x and y in turn.
 */
export type AreaShape = Float64Array<ArrayBuffer>;

interface Ring {
  /** x and y in turn. */
  readonly points: Float64Array;
  /** Its place among the polygons; the first ring of one is the outer one. */
  readonly polygon: number;
  readonly isOuter: boolean;
}

export function packPolygons(polygons: readonly Polygon[]): AreaShape {
  const lengths = polygons.flatMap((polygon) => [polygon.length, ...polygon.map(({ length }) => length)]);
  const rings = polygons.flat();
  const points = rings.reduce((sum, { length }) => sum + length, 0);
  const shape = new Float64Array(1 + lengths.length + 2 * points);
  shape[0] = polygons.length;
  shape.set(lengths, 1);
  let at = 1 + lengths.length;
  for (const ring of rings) {
    for (const [x, y] of ring) {
      shape[at++] = x;
      shape[at++] = y;
    }
  }
  return shape;
}

export function* ringsOf(shape: AreaShape): Generator<Ring> {
  const [polygons = 0] = shape;
  let at = 1;
  for (let polygon = 0; polygon < polygons; polygon++) at += 1 + (shape[at] ?? 0);
  let header = 1;
  for (let polygon = 0; polygon < polygons; polygon++) {
    const rings = shape[header++] ?? 0;
    for (let ring = 0; ring < rings; ring++) {
      const start = at;
      at += 2 * (shape[header++] ?? 0);
      yield { points: shape.subarray(start, at), polygon, isOuter: ring === 0 };
    }
  }
}

export function unpackPolygons(shape: AreaShape): readonly Polygon[] {
  const polygons: [number, number][][][] = [];
  for (const { points, isOuter } of ringsOf(shape)) {
    if (isOuter) polygons.push([]);
    const ring: [number, number][] = [];
    for (let i = 0; i < points.length; i += 2) ring.push([points[i] ?? 0, points[i + 1] ?? 0]);
    polygons.at(-1)?.push(ring);
  }
  return polygons;
}

/** The box around points, x and y in turn; inside out when there are none. */
export function boundsOfRing(points: Float64Array): Bounds {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] ?? 0, points[i + 1] ?? 0];
    minX = Math.min(minX, x);
    minY = Math.min(minY, y);
    maxX = Math.max(maxX, x);
    maxY = Math.max(maxY, y);
  }
  return { minX, minY, maxX, maxY };
}

export function bytesOf({ buffer, byteOffset, byteLength }: Float64Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** The shape in memory that begins with these bytes. */
export function shapeOfBytes({ buffer }: Uint8Array): AreaShape {
  return new Float64Array(buffer as ArrayBuffer);
}

export function digestOfShape(srs: number, shape: AreaShape): string {
  return createHash('sha256').update(`${srs} `).update(bytesOf(shape)).digest('hex');
}
