import type { MapPicture } from './bounds.ts';
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
  /** Place in the grid of metatiles. */
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

/** Pixels around a metatile that are fetched with it and cut away, by side. */
export type Gutter = ReturnType<typeof gutterAround>;

/** In pixels: far above the rounding of doubles, visible in no picture. */
const ROUNDING = 1e-3;

/** At most `pixels` on each side, and none outside the extent: map servers refuse bounds beyond the world. */
export function gutterAround(gridSet: GridSet, { z, rect }: Metatile, pixels: number) {
  const { extent } = gridSet;
  const { resolution } = levelOf(gridSet, z);
  const { minX, minY, maxX, maxY } = boundsOfRect(gridSet, z, rect);
  const within = (room: number) => Math.max(0, Math.min(pixels, Math.floor(room / resolution + ROUNDING)));
  return {
    left: within(minX - extent.minX),
    top: within(extent.maxY - maxY),
    right: within(extent.maxX - maxX),
    bottom: within(minY - extent.minY),
  };
}

/** The picture to request from a source: the metatile's bounds and pixels with those of the gutter. */
export function metatileImage(gridSet: GridSet, metatile: Metatile, gutter: Gutter): MapPicture {
  const { z, rect } = metatile;
  const { resolution } = levelOf(gridSet, z);
  const { left, top, right, bottom } = gutter;
  const { minX, minY, maxX, maxY } = boundsOfRect(gridSet, z, rect);
  return {
    bounds: {
      minX: minX - left * resolution,
      minY: minY - bottom * resolution,
      maxX: maxX + right * resolution,
      maxY: maxY + top * resolution,
    },
    width: (rect.maxX - rect.minX + 1) * gridSet.tileWidth + left + right,
    height: (rect.maxY - rect.minY + 1) * gridSet.tileHeight + top + bottom,
  };
}
