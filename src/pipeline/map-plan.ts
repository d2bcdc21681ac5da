import type { Bounds } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import { levelOf, tilesOfBounds } from '../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../domain/grid-subset.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import { createResampleAxis, type ResampleAxis } from '../raster/resample-axis.ts';

/** From which tiles, and how, a map is made. */
export interface MapPlan {
  readonly z: number;
  readonly rect: TileRect;
  readonly across: ResampleAxis;
  readonly down: ResampleAxis;
}

export interface MapPlace {
  readonly bounds: Bounds;
  readonly width: number;
  readonly height: number;
}

/** Tiles that one map may be made of. */
export const MAX_TILES_PER_MAP = 2000;
/** Tiles are enlarged by so much rather than taking those of the next zoom, whose lettering would be half as large. */
const LEAST_ENLARGED = 1.15;

/** Null when the layer has nothing there. Throws `request-invalid` when it would take too many tiles. */
export function planMap(subset: GridSubset, place: MapPlace): MapPlan | null {
  const { bounds, width, height } = place;
  const z = zoomFor(subset, place);
  const rect = tilesAt(subset, z, bounds);
  if (!rect) return null;
  const { gridSet } = subset;
  const level = levelOf(gridSet, z);
  const left = gridSet.extent.minX + rect.minX * level.tileSpanX;
  const top = level.top - rect.minY * level.tileSpanY;
  const { resolution } = level;
  return {
    z,
    rect,
    across: createResampleAxis({
      length: width,
      origin: (bounds.minX - left) / resolution,
      scale: (bounds.maxX - bounds.minX) / width / resolution,
      available: (rect.maxX - rect.minX + 1) * gridSet.tileWidth,
    }),
    down: createResampleAxis({
      length: height,
      origin: (top - bounds.maxY) / resolution,
      scale: (bounds.maxY - bounds.minY) / height / resolution,
      available: (rect.maxY - rect.minY + 1) * gridSet.tileHeight,
    }),
  };
}

/** The coarsest zoom that is fine enough, or a coarser one if that would be too many tiles. */
function zoomFor(subset: GridSubset, { bounds, width, height }: MapPlace): number {
  const { zoomStart, zoomStop, gridSet } = subset;
  const wanted = Math.min((bounds.maxX - bounds.minX) / width, (bounds.maxY - bounds.minY) / height);
  let z = zoomStart;
  while (z < zoomStop && levelOf(gridSet, z).resolution > wanted * LEAST_ENLARGED) z++;
  while (z > zoomStart && countAt(subset, z, bounds) > MAX_TILES_PER_MAP) z--;
  const count = countAt(subset, z, bounds);
  if (count <= MAX_TILES_PER_MAP) return z;
  throw new TilewardenError(
    'request-invalid',
    `This map would be made of ${count} tiles; at most ${MAX_TILES_PER_MAP} are put together. Ask for a smaller place, or another zoom.`,
  );
}

function countAt(subset: GridSubset, z: number, bounds: Bounds): number {
  const rect = tilesAt(subset, z, bounds);
  return rect ? (rect.maxX - rect.minX + 1) * (rect.maxY - rect.minY + 1) : 0;
}

function tilesAt(subset: GridSubset, z: number, bounds: Bounds): TileRect | null {
  const wanted = tilesOfBounds(subset.gridSet, z, bounds);
  const offered = coverageAt(subset, z);
  if (!wanted || !offered) return null;
  const rect = {
    minX: Math.max(wanted.minX, offered.minX),
    minY: Math.max(wanted.minY, offered.minY),
    maxX: Math.min(wanted.maxX, offered.maxX),
    maxY: Math.min(wanted.maxY, offered.maxY),
  };
  return rect.minX <= rect.maxX && rect.minY <= rect.maxY ? rect : null;
}
