import type { Bounds } from './bounds.ts';
import type { TileIndex } from './tile-key.ts';

/** A block of tiles of one zoom: indexes inclusive on all sides, rows counted from the top. */
export type TileRect = Bounds;

export const DEEPEST_ZOOM = 30;
/** Beyond any tile index: zoom 30 ends at 2^30. */
const FAR = 2 ** 31;
export const WHOLE_LEVEL: TileRect = { minX: 0, minY: 0, maxX: FAR, maxY: FAR };

/** The block in this column and row of a grid of blocks. */
export function blockAt(column: number, row: number, columns: number, rows = columns): TileRect {
  const [minX, minY] = [column * columns, row * rows];
  return { minX, minY, maxX: minX + columns - 1, maxY: minY + rows - 1 };
}

export function rectOfTile({ x, y }: { readonly x: number; readonly y: number }): TileRect {
  return { minX: x, minY: y, maxX: x, maxY: y };
}

/** For blocks small enough to iterate over. */
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

/** Many blocks, four numbers each: they pass between threads and processes as one piece of memory. */
export type PackedRects = Float64Array;

/** A block of a zoom, in every format and for all parameters. */
export interface TilePlace {
  readonly gridSet: string;
  readonly z: number;
  readonly rect: TileRect;
  /** Limits the effect of a mark to these parts of `rect`, some hundred at most; absent: all of it. */
  readonly parts?: PackedRects;
}

export function packRects(rects: readonly TileRect[]): PackedRects {
  const packed = new Float64Array(rects.length * 4);
  for (const [i, { minX, minY, maxX, maxY }] of rects.entries()) packed.set([minX, minY, maxX, maxY], i * 4);
  return packed;
}

export function* rectsIn(packed: PackedRects): Generator<TileRect> {
  for (let at = 0; at < packed.length; at += 4) yield rectIn(packed, at);
}

/** Whether one of the blocks has a tile of `rect`. */
export function packedTouch(packed: PackedRects, rect: TileRect): boolean {
  for (let at = 0; at < packed.length; at += 4) {
    const { minX, minY, maxX, maxY } = rectIn(packed, at);
    if (minX <= rect.maxX && maxX >= rect.minX && minY <= rect.maxY && maxY >= rect.minY) return true;
  }
  return false;
}

function rectIn(packed: PackedRects, at: number): TileRect {
  return {
    minX: packed[at] ?? 0,
    minY: packed[at + 1] ?? 0,
    maxX: packed[at + 2] ?? 0,
    maxY: packed[at + 3] ?? 0,
  };
}

/** The smallest block around all tiles; null: no tiles. */
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
