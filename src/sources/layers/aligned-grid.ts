import type { MapPicture } from '../../domain/bounds.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../domain/grid-subset.ts';
import { intersectRects, type TileRect } from '../../domain/tile-rect.ts';

/** Pixels; a smaller shift is ignored. */
const TOLERANCE = 1e-3;

/** A level of a grid whose pixels are those of a picture in the same CRS. */
export interface Alignment {
  readonly z: number;
  /** Tiles that the picture shows; null: none. */
  readonly rect: TileRect | null;
  /** The picture's first pixel, in pixels of the level from the top left. */
  readonly column: number;
  readonly row: number;
  /** First and last pixel of the picture inside the extent. */
  readonly inside: TileRect;
  readonly tileWidth: number;
  readonly tileHeight: number;
}

/** Null: no level has the same pixels. */
export function alignmentOf(subset: GridSubset, picture: MapPicture): Alignment | null {
  const { bounds, width, height } = picture;
  const { gridSet, extent } = subset;
  for (let z = subset.zoomStart; z <= subset.zoomStop; z++) {
    const { resolution, top } = levelOf(gridSet, z);
    const column = (bounds.minX - gridSet.extent.minX) / resolution;
    const row = (top - bounds.maxY) / resolution;
    const isSame =
      isNear((bounds.maxX - bounds.minX) / resolution, width) &&
      isNear((bounds.maxY - bounds.minY) / resolution, height) &&
      isNear(column, Math.round(column)) &&
      isNear(row, Math.round(row));
    if (!isSame) continue;
    // A pixel is inside if its middle is.
    const first = (from: number, to: number) => Math.max(0, Math.ceil((to - from) / resolution - 0.5));
    const last = (from: number, to: number, most: number) =>
      Math.min(most, Math.floor((to - from) / resolution - 0.5));
    const inside = {
      minX: first(bounds.minX, extent.minX),
      maxX: last(bounds.minX, extent.maxX, width - 1),
      minY: first(-bounds.maxY, -extent.maxY),
      maxY: last(-bounds.maxY, -extent.minY, height - 1),
    };
    const aligned = { z, column: Math.round(column), row: Math.round(row), inside };
    const { tileWidth, tileHeight } = gridSet;
    return { ...aligned, rect: tilesIn(subset, aligned), tileWidth, tileHeight };
  }
  return null;
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) < TOLERANCE;
}

function tilesIn(
  subset: GridSubset,
  { z, column, row, inside }: Pick<Alignment, 'z' | 'column' | 'row' | 'inside'>,
): TileRect | null {
  const coverage = coverageAt(subset, z);
  if (!coverage || inside.minX > inside.maxX || inside.minY > inside.maxY) return null;
  const { tileWidth, tileHeight } = subset.gridSet;
  const touched = {
    minX: Math.floor((column + inside.minX) / tileWidth),
    maxX: Math.floor((column + inside.maxX) / tileWidth),
    minY: Math.floor((row + inside.minY) / tileHeight),
    maxY: Math.floor((row + inside.maxY) / tileHeight),
  };
  return intersectRects(touched, coverage);
}
