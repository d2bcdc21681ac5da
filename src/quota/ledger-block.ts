import type { TileSetKey } from '../domain/tile-key.ts';
import type { PageStatistics } from '../storage/tile-store.ts';

/** Whose pages are read in one turn of the event loop: a few thousand pages. */
export const BLOCKS_PER_TURN = 32;

export type LedgerPage = Omit<PageStatistics, 'set' | 'z'>;

export interface LedgerBlock {
  readonly store: string;
  readonly id: string;
  readonly set: TileSetKey;
  readonly z: number;
  readonly diskBytes: number;
  readonly tiles: number;
  readonly pageCount: number;
  /** Read from the store's own record each time: a million pages are not kept as objects. */
  readonly pages: readonly LedgerPage[];
}

/** The block as it will be without a page. Its room is taken to be shared out as the tiles' bytes are. */
export function withoutPage(block: LedgerBlock, page: LedgerPage): LedgerBlock {
  const pages = block.pages.filter((other) => placeOf(other) !== placeOf(page));
  const diskBytes = pages.length === 0 ? 0 : block.diskBytes - diskShare(block, page);
  const tiles = pages.reduce((sum, other) => sum + other.tiles, 0);
  return { ...block, diskBytes, tiles, pageCount: pages.length, pages };
}

/** What removing the page is likely to free. */
export function diskShare(block: LedgerBlock, page: LedgerPage): number {
  if (block.pageCount === 1) return block.diskBytes;
  const total = block.pages.reduce((sum, { bytes }) => sum + bytes, 0);
  return total === 0 ? 0 : Math.floor((block.diskBytes * page.bytes) / total);
}

/** A block has eight by eight pages: which of two words of 32 bits stands for a page, and which bit. */
export function placeInBlock({ pageX, pageY }: Pick<LedgerPage, 'pageX' | 'pageY'>) {
  const index = (pageY % 8) * 8 + (pageX % 8);
  return { word: index >> 5, bit: 1 << (index & 31) };
}

export function placeOf({ pageX, pageY }: Pick<LedgerPage, 'pageX' | 'pageY'>): string {
  return `${pageX} ${pageY}`;
}
