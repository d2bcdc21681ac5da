import type { Bounds } from './bounds.ts';
import { intersectBounds } from './bounds.ts';
import { TilewardenError } from './errors.ts';
import type { GridSet } from './grid-set.ts';
import { tilesOfBounds } from './grid-set.ts';
import type { TileRect } from './tile-rect.ts';
import { rectContains } from './tile-rect.ts';

/** The part of a grid set that a layer offers. */
export interface GridSubset {
  readonly gridSet: GridSet;
  readonly extent: Bounds;
  readonly zoomStart: number;
  readonly zoomStop: number;
}

export interface GridSubsetOptions {
  readonly extent?: Bounds;
  readonly zoomStart?: number;
  readonly zoomStop?: number;
}

export function createGridSubset(gridSet: GridSet, options: GridSubsetOptions = {}): GridSubset {
  const maxZoom = gridSet.levels.length - 1;
  const zoomStart = options.zoomStart ?? 0;
  const zoomStop = Math.min(options.zoomStop ?? maxZoom, maxZoom);
  if (zoomStart < 0 || zoomStart > zoomStop) {
    throw new TilewardenError(
      'config-invalid',
      `zoomStart ${zoomStart} of grid set ${gridSet.name} must lie between 0 and zoomStop ${zoomStop}.`,
    );
  }
  const extent = options.extent ? intersectBounds(options.extent, gridSet.extent) : gridSet.extent;
  if (!extent) {
    throw new TilewardenError('config-invalid', `The extent lies outside grid set ${gridSet.name}.`);
  }
  return { gridSet, extent, zoomStart, zoomStop };
}

/** All tiles the layer offers at a zoom; null when the zoom is not offered. */
export function coverageAt(subset: GridSubset, z: number): TileRect | null {
  if (!Number.isInteger(z) || z < subset.zoomStart || z > subset.zoomStop) return null;
  return tilesOfBounds(subset.gridSet, z, subset.extent);
}

export function subsetContains(subset: GridSubset, z: number, x: number, y: number): boolean {
  const coverage = coverageAt(subset, z);
  return coverage !== null && Number.isInteger(x) && Number.isInteger(y) && rectContains(coverage, x, y);
}
