/** Tiles along a side of a page, the unit of use counting and eviction. */
export const PAGE_SIZE = 16;

/** The page that holds a tile index, on either axis. */
export function pageOf(tileIndex: number): number {
  return Math.floor(tileIndex / PAGE_SIZE);
}
