import { BLOCK_SIZE, PAGE_SIZE } from '../domain/tile-key.ts';
import type { PageStatistics } from './tile-store.ts';

type PagePlace = Pick<PageStatistics, 'pageX' | 'pageY'>;

/** Pages along the side of a block. */
export const PAGES_PER_SIDE = BLOCK_SIZE / PAGE_SIZE;

/** The number of a page in its block, row by row from the top left, which is also its bit in the block's mask. */
export function numberInBlock({ pageX, pageY }: PagePlace): number {
  return (pageY % PAGES_PER_SIDE) * PAGES_PER_SIDE + (pageX % PAGES_PER_SIDE);
}

/** The page of that number, in pages of the zoom. */
export function pageInBlock({ x, y }: { readonly x: number; readonly y: number }, number: number): PagePlace {
  return {
    pageX: x * PAGES_PER_SIDE + (number % PAGES_PER_SIDE),
    pageY: y * PAGES_PER_SIDE + Math.floor(number / PAGES_PER_SIDE),
  };
}

export function maskOf(pages: Iterable<number>): bigint {
  let mask = 0n;
  for (const number of pages) mask |= 1n << BigInt(number);
  return mask;
}

export function isInMask(mask: bigint, number: number): boolean {
  return ((mask >> BigInt(number)) & 1n) === 1n;
}

export function countMask(mask: bigint): number {
  let pages = 0;
  for (const half of [mask & 0xffff_ffffn, mask >> 32n]) {
    for (let bits = Number(half); bits !== 0; bits = (bits & (bits - 1)) >>> 0) pages++;
  }
  return pages;
}
