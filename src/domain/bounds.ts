/** A rectangle in the units of a CRS, x before y always. */
export interface Bounds {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

/** A picture of the map: its bounds and its size in pixels. */
export interface MapPicture {
  readonly bounds: Bounds;
  readonly width: number;
  readonly height: number;
}

export function boundsOf(coords: readonly [number, number, number, number]): Bounds {
  const [minX, minY, maxX, maxY] = coords;
  return { minX, minY, maxX, maxY };
}

export function coordsOf({ minX, minY, maxX, maxY }: Bounds): readonly [number, number, number, number] {
  return [minX, minY, maxX, maxY];
}

export function intersectBounds(a: Bounds, b: Bounds): Bounds | null {
  const minX = Math.max(a.minX, b.minX);
  const minY = Math.max(a.minY, b.minY);
  const maxX = Math.min(a.maxX, b.maxX);
  const maxY = Math.min(a.maxY, b.maxY);
  return minX < maxX && minY < maxY ? { minX, minY, maxX, maxY } : null;
}

/** Whether all of `inner` is in `outer`. */
export function containsBounds(outer: Bounds, inner: Bounds): boolean {
  return (
    outer.minX <= inner.minX &&
    outer.minY <= inner.minY &&
    outer.maxX >= inner.maxX &&
    outer.maxY >= inner.maxY
  );
}

export function expandBounds(bounds: Bounds, dx: number, dy: number): Bounds {
  return {
    minX: bounds.minX - dx,
    minY: bounds.minY - dy,
    maxX: bounds.maxX + dx,
    maxY: bounds.maxY + dy,
  };
}

/** The box around all of them; there must be one at least. */
export function boundsAround(all: readonly Bounds[]): Bounds {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const one of all) {
    if (one.minX < minX) minX = one.minX;
    if (one.minY < minY) minY = one.minY;
    if (one.maxX > maxX) maxX = one.maxX;
    if (one.maxY > maxY) maxY = one.maxY;
  }
  return { minX, minY, maxX, maxY };
}

/** The box around points; inside out when there are none. */
export function boundsOfPoints(points: Iterable<readonly [number, number]>): Bounds {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    minX = Math.min(minX, x);
    minY = Math.min(minY, y);
    maxX = Math.max(maxX, x);
    maxY = Math.max(maxY, y);
  }
  return { minX, minY, maxX, maxY };
}

/** A polygon as in GeoJSON: rings of [x, y], the first the outer one. */
export type Polygon = readonly (readonly (readonly [number, number])[])[];

export function polygonOfBounds({ minX, minY, maxX, maxY }: Bounds): Polygon {
  return [
    [
      [minX, minY],
      [maxX, minY],
      [maxX, maxY],
      [minX, maxY],
      [minX, minY],
    ],
  ];
}
