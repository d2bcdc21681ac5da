import type { TileIndex } from './tile-key.ts';

/** A block of tiles of one zoom: indexes inclusive on all sides, rows counted from the top. */
export interface TileRect {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

export const DEEPEST_ZOOM = 30;
/** Beyond any tile index: zoom 30 ends at 2^30. */
const FAR = 2 ** 31;
export const WHOLE_LEVEL: TileRect = { minX: 0, minY: 0, maxX: FAR, maxY: FAR };

/** Of a grid of blocks that each have so many tiles, the one in this column and row. */
export function blockAt(column: number, row: number, columns: number, rows = columns): TileRect {
  const [minX, minY] = [column * columns, row * rows];
  return { minX, minY, maxX: minX + columns - 1, maxY: minY + rows - 1 };
}

export function rectOfTile({ x, y }: { readonly x: number; readonly y: number }): TileRect {
  return { minX: x, minY: y, maxX: x, maxY: y };
}

/** Of a block that is not too large to be gone through. */
export function sizeOfRect({ minX, minY, maxX, maxY }: TileRect): number {
  return (maxX - minX + 1) * (maxY - minY + 1);
}

/** Exact at any zoom: at zoom 30 a level has more tiles than a double can count. */
export function countTiles(rect: TileRect): bigint {
  return BigInt(rect.maxX - rect.minX + 1) * BigInt(rect.maxY - rect.minY + 1);
}

export function intersectRects(a: TileRect, b: TileRect): TileRect | null {
  const minX = Math.max(a.minX, b.minX);
  const minY = Math.max(a.minY, b.minY);
  const maxX = Math.min(a.maxX, b.maxX);
  const maxY = Math.min(a.maxY, b.maxY);
  return minX <= maxX && minY <= maxY ? { minX, minY, maxX, maxY } : null;
}

export function rectContains(rect: TileRect, x: number, y: number): boolean {
  return x >= rect.minX && x <= rect.maxX && y >= rect.minY && y <= rect.maxY;
}

/** The smallest block that holds them all; null when there are none. */
export function rectAround(tiles: readonly { readonly x: number; readonly y: number }[]): TileRect | null {
  const [first] = tiles;
  if (!first) return null;
  let { x: minX, y: minY, x: maxX, y: maxY } = first;
  for (const { x, y } of tiles) {
    [minX, maxX] = [Math.min(minX, x), Math.max(maxX, x)];
    [minY, maxY] = [Math.min(minY, y), Math.max(maxY, y)];
  }
  return { minX, minY, maxX, maxY };
}

/** Row by row. */
export function tilesOfRect(z: number, rect: TileRect): readonly TileIndex[] {
  const columns = rect.maxX - rect.minX + 1;
  return Array.from({ length: sizeOfRect(rect) }, (_, i) => {
    return { z, x: rect.minX + (i % columns), y: rect.minY + Math.floor(i / columns) };
  });
}
