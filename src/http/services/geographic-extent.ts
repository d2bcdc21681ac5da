import { type Bounds, boundsAround } from '../../domain/bounds.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { projectionOf } from '../../domain/projection.ts';

/** West, south, east, north in degrees. */
export type GeographicBox = readonly [west: number, south: number, east: number, north: number];

/** The box around all that a layer offers; null when none of its grid sets can be turned into degrees. */
export function geographicExtent(layer: Layer): GeographicBox | null {
  const boxes = layer.gridSubsets.flatMap((subset) => geographicBounds(subset) ?? []);
  return boxes.length === 0 ? null : boxOf(boundsAround(boxes));
}

export function geographicBoxOf(subset: GridSubset): GeographicBox | null {
  const bounds = geographicBounds(subset);
  return bounds && boxOf(bounds);
}

function geographicBounds({ gridSet, extent }: GridSubset): Bounds | null {
  return projectionOf(gridSet)?.boundsToWgs84(extent) ?? null;
}

function boxOf({ minX, minY, maxX, maxY }: Bounds): GeographicBox {
  return [rounded(minX), rounded(minY), rounded(maxX), rounded(maxY)];
}

/** To a hundred-millionth of a degree, about a millimetre. */
function rounded(degrees: number): number {
  return Math.round(degrees * 1e8) / 1e8;
}

/** The box around all that a layer offers in each CRS; clients take one of several for the whole. */
export function extentsByCrs<Crs>(
  { gridSubsets }: Layer,
  crsOf: (subset: GridSubset) => readonly (readonly [name: string, crs: Crs])[],
): readonly { readonly crs: Crs; readonly bounds: Bounds }[] {
  const found = new Map<string, { crs: Crs; bounds: Bounds }>();
  for (const subset of gridSubsets) {
    for (const [name, crs] of crsOf(subset)) {
      const bounds = boundsAround([subset.extent, found.get(name)?.bounds ?? subset.extent]);
      found.set(name, { crs, bounds });
    }
  }
  return [...found.values()];
}
