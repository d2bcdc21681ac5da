/** A rectangle in the units of a CRS, x before y always. */
export interface Bounds {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

export function boundsOf(coords: readonly [number, number, number, number]): Bounds {
  const [minX, minY, maxX, maxY] = coords;
  return { minX, minY, maxX, maxY };
}

export function intersectBounds(a: Bounds, b: Bounds): Bounds | null {
  const minX = Math.max(a.minX, b.minX);
  const minY = Math.max(a.minY, b.minY);
  const maxX = Math.min(a.maxX, b.maxX);
  const maxY = Math.min(a.maxY, b.maxY);
  return minX < maxX && minY < maxY ? { minX, minY, maxX, maxY } : null;
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
  return {
    minX: Math.min(...all.map(({ minX }) => minX)),
    minY: Math.min(...all.map(({ minY }) => minY)),
    maxX: Math.max(...all.map(({ maxX }) => maxX)),
    maxY: Math.max(...all.map(({ maxY }) => maxY)),
  };
}
