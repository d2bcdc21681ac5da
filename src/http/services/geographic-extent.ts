import type { Bounds } from '../../domain/bounds.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { projectionOf } from '../../domain/projection.ts';

/** West, south, east, north in degrees. */
export type GeographicBox = readonly [west: number, south: number, east: number, north: number];

/** The box around all that a layer offers; null when none of its grid sets can be turned into degrees. */
export function geographicExtent(layer: Layer): GeographicBox | null {
  const boxes = layer.gridSubsets.flatMap((subset) => geographicBounds(subset) ?? []);
  if (boxes.length === 0) return null;
  return boxOf({
    minX: Math.min(...boxes.map(({ minX }) => minX)),
    minY: Math.min(...boxes.map(({ minY }) => minY)),
    maxX: Math.max(...boxes.map(({ maxX }) => maxX)),
    maxY: Math.max(...boxes.map(({ maxY }) => maxY)),
  });
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
