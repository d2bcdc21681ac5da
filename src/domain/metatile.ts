import type { MapPicture } from './bounds.ts';
import { expandBounds } from './bounds.ts';
import { boundsOfRect, type GridSet, levelOf } from './grid-set.ts';
import { coverageAt, type GridSubset } from './grid-subset.ts';
import { blockAt, intersectRects, rectContains, type TileRect } from './tile-rect.ts';

export interface MetatileSize {
  readonly columns: number;
  readonly rows: number;
}

/** The block of tiles fetched by one request, clipped to what the layer offers. */
export interface Metatile {
  readonly z: number;
  /** Place in the grid of metatiles: the same for every tile of the block, so it names the flight. */
  readonly column: number;
  readonly row: number;
  readonly rect: TileRect;
}

/** The metatile that holds a tile; null when the layer does not offer that tile. */
export function metatileOf(
  subset: GridSubset,
  size: MetatileSize,
  z: number,
  x: number,
  y: number,
): Metatile | null {
  const metatile = metatileAt(subset, size, z, Math.floor(x / size.columns), Math.floor(y / size.rows));
  return metatile && rectContains(metatile.rect, x, y) ? metatile : null;
}

export function metatileAt(
  subset: GridSubset,
  size: MetatileSize,
  z: number,
  column: number,
  row: number,
): Metatile | null {
  const coverage = coverageAt(subset, z);
  if (!coverage) return null;
  const rect = intersectRects(blockAt(column, row, size.columns, size.rows), coverage);
  return rect && { z, column, row, rect };
}

/** The picture to request from a source: the metatile's bounds and pixels, with `gutter` pixels on every side. */
export function metatileImage(gridSet: GridSet, metatile: Metatile, gutter: number): MapPicture {
  const { z, rect } = metatile;
  const margin = gutter * levelOf(gridSet, z).resolution;
  return {
    bounds: expandBounds(boundsOfRect(gridSet, z, rect), margin, margin),
    width: (rect.maxX - rect.minX + 1) * gridSet.tileWidth + 2 * gutter,
    height: (rect.maxY - rect.minY + 1) * gridSet.tileHeight + 2 * gutter,
  };
}
