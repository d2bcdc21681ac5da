import { levelOf } from './grid-set.ts';
import { coverageAt, type GridSubset } from './grid-subset.ts';
import type { TileIndex } from './tile-key.ts';

/**
 * Whether a tile lies beyond the circle around the middle of what the layer offers, by GeoWebCache's arithmetic: whole
 * tiles, rows from the bottom, a quarter of the longer side and one more as radius.
 */
export function isBeyondCircle(subset: GridSubset, { z, x, y }: TileIndex): boolean {
  const coverage = coverageAt(subset, z);
  if (!coverage) return false;
  const width = coverage.maxX - coverage.minX;
  const height = coverage.maxY - coverage.minY;
  const radius = Math.floor(Math.max(width, height) / 4) + 1;
  const last = levelOf(subset.gridSet, z).rows - 1;
  const fromMiddleX = coverage.minX + Math.floor(width / 2) - x;
  const fromMiddleY = last - coverage.maxY + Math.floor(height / 2) - (last - y);
  return Math.round(Math.hypot(fromMiddleX, fromMiddleY)) > radius;
}
