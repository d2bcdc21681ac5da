/** A block of tiles of one zoom: indexes inclusive on all sides, rows counted from the top. */
export interface TileRect {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
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
