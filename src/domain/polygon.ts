/** A polygon as in GeoJSON: rings of [x, y], the first the outer one. */
export type Polygon = readonly (readonly (readonly [number, number])[])[];

/** Whether a place lies within: a ray to the right of it crosses the rings an odd number of times. */
export function polygonHolds(polygon: Polygon, x: number, y: number): boolean {
  let inside = false;
  for (const ring of polygon) {
    for (const [i, [x1, y1]] of ring.entries()) {
      const [x2, y2] = ring[(i + 1) % ring.length] ?? [x1, y1];
      if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) inside = !inside;
    }
  }
  return inside;
}
