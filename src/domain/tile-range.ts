import type { Bounds } from './bounds.ts';
import { tilesOfBounds } from './grid-set.ts';
import { coverageAt, type GridSubset } from './grid-subset.ts';
import { countTiles, intersectRects, type TileRect } from './tile-rect.ts';

/** Tiles of consecutive zooms, a rectangle at each: O(zoom levels) to hold and to count, however many tiles it spans. */
export interface TileRange {
  readonly levels: readonly TileRangeLevel[];
}

export interface TileRangeLevel {
  readonly z: number;
  readonly rect: TileRect;
}

/** What a layer offers within `bounds` (all of it when null) from `zoomStart` to `zoomStop`, clipped to the subset. */
export function tileRangeOf(
  subset: GridSubset,
  zoomStart: number,
  zoomStop: number,
  bounds: Bounds | null,
): TileRange {
  const levels: TileRangeLevel[] = [];
  const first = Math.max(zoomStart, subset.zoomStart);
  const last = Math.min(zoomStop, subset.zoomStop);
  for (let z = first; z <= last; z++) {
    const rect = rectAt(subset, z, bounds);
    if (rect) levels.push({ z, rect });
  }
  return { levels };
}

export function countRange(range: TileRange): bigint {
  return range.levels.reduce((sum, level) => sum + countTiles(level.rect), 0n);
}

function rectAt(subset: GridSubset, z: number, bounds: Bounds | null): TileRect | null {
  const coverage = coverageAt(subset, z);
  if (!coverage || !bounds) return coverage;
  const wanted = tilesOfBounds(subset.gridSet, z, bounds);
  return wanted && intersectRects(wanted, coverage);
}
