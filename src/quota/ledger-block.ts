import type { BlockContent, StoreChange } from '../storage/tile-store.ts';

/** A block of a store, added up. Its pages are read from the store by those who need them. */
export interface LedgerBlock extends BlockContent {
  readonly store: string;
  readonly id: string;
}

/** Names the block among those of all stores. */
export function keyOf({ store, id }: Pick<LedgerBlock, 'store' | 'id'>): string {
  return `${store} ${id}`;
}

/** The block as it will be without some pages. Its room is taken to be shared out as the tiles' bytes are. */
export function withoutPages(block: LedgerBlock, pages: bigint, removed: StoreChange): LedgerBlock {
  const mask = block.mask & ~pages;
  if (mask === 0n) return { ...block, mask, tiles: 0, bytes: 0, diskBytes: 0 };
  const bytes = Math.max(0, block.bytes - removed.bytes);
  const share = block.bytes === 0 ? 0 : Math.floor((block.diskBytes * (block.bytes - bytes)) / block.bytes);
  const tiles = Math.max(0, block.tiles - removed.tiles);
  return { ...block, mask, tiles, bytes, diskBytes: block.diskBytes - share };
}
