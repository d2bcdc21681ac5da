import { BLOCK_SIZE, PAGE_SIZE, type TileSetKey } from '../../domain/tile-key.ts';
import { blockAt, intersectRects, sizeOfRect, type TileRect } from '../../domain/tile-rect.ts';
import { PAGES_PER_SIDE } from '../page-mask.ts';
import type { PageStatistics } from '../tile-store.ts';
import type { PageRow } from './bundle-reader.ts';

/** Tiles along a side of a bundle. It is a block of the ledger: `docs/decisions/0360-size-of-bundles.md`. */
export const BUNDLE_SIZE = BLOCK_SIZE;

export const PAGES_PER_BUNDLE = PAGES_PER_SIDE * PAGES_PER_SIDE;
const TILES_PER_PAGE = PAGE_SIZE * PAGE_SIZE;

/** The place of a bundle among those of its zoom. */
export interface ListedBundle {
  readonly bundleX: number;
  readonly bundleY: number;
}

export interface KeyRange {
  readonly first: number;
  readonly last: number;
}

/** What a rectangle covers of one page of a bundle. */
export interface PageCover {
  readonly page: number;
  readonly whole: boolean;
  /** Unbroken runs of keys: one for the whole page, otherwise one for each row. */
  readonly ranges: readonly KeyRange[];
}

export function bundleIndexOf(tileIndex: number): number {
  return Math.floor(tileIndex / BUNDLE_SIZE);
}

/**
 * A tile's key in its bundle: page by page, row by row within a page. The tiles of a page are then neighbours,
 * and evicting a page is one run of keys.
 */
export function keyOfTile(x: number, y: number): number {
  return pageInBundle(x, y) * TILES_PER_PAGE + (y % PAGE_SIZE) * PAGE_SIZE + (x % PAGE_SIZE);
}

export function pageOfKey(key: number): number {
  return Math.floor(key / TILES_PER_PAGE);
}

/** The place of a tile in the zoom. */
export function tilePlace(bundle: ListedBundle, key: number): { readonly x: number; readonly y: number } {
  const { pageX, pageY } = placeOfPage(bundle, pageOfKey(key));
  const within = key % TILES_PER_PAGE;
  return {
    x: pageX * PAGE_SIZE + (within % PAGE_SIZE),
    y: pageY * PAGE_SIZE + Math.floor(within / PAGE_SIZE),
  };
}

export function pageStatistics(
  set: TileSetKey,
  z: number,
  bundle: ListedBundle,
  { page, tiles, bytes, written_at: writtenAt }: PageRow,
): PageStatistics {
  return { set, z, ...placeOfPage(bundle, page), tiles, bytes, writtenAt };
}

/** In pages of the zoom. */
function placeOfPage({ bundleX, bundleY }: ListedBundle, page: number): { pageX: number; pageY: number } {
  return {
    pageX: bundleX * PAGES_PER_SIDE + (page % PAGES_PER_SIDE),
    pageY: bundleY * PAGES_PER_SIDE + Math.floor(page / PAGES_PER_SIDE),
  };
}

export function keysOfPage(page: number): KeyRange {
  return { first: page * TILES_PER_PAGE, last: (page + 1) * TILES_PER_PAGE - 1 };
}

/** The pages of a bundle that `rect`, given in tiles of the zoom, touches. */
export function* coverOfBundle(bundleX: number, bundleY: number, rect: TileRect): Generator<PageCover> {
  for (let page = 0; page < PAGES_PER_BUNDLE; page++) {
    const { pageX, pageY } = placeOfPage({ bundleX, bundleY }, page);
    const shared = intersectRects(blockAt(pageX, pageY, PAGE_SIZE), rect);
    if (shared) yield coverOfPage(page, shared);
  }
}

/** All keys of the bundle that `rect` covers. */
export function rangesIn({ bundleX, bundleY }: ListedBundle, rect: TileRect): readonly KeyRange[] {
  return [...coverOfBundle(bundleX, bundleY, rect)].flatMap(({ ranges }) => ranges);
}

function coverOfPage(page: number, shared: TileRect): PageCover {
  if (sizeOfRect(shared) === TILES_PER_PAGE) return { page, whole: true, ranges: [keysOfPage(page)] };
  const ranges = Array.from({ length: shared.maxY - shared.minY + 1 }, (_, row) => ({
    first: keyOfTile(shared.minX, shared.minY + row),
    last: keyOfTile(shared.maxX, shared.minY + row),
  }));
  return { page, whole: false, ranges };
}

function pageInBundle(x: number, y: number): number {
  const column = Math.floor((x % BUNDLE_SIZE) / PAGE_SIZE);
  const row = Math.floor((y % BUNDLE_SIZE) / PAGE_SIZE);
  return row * PAGES_PER_SIDE + column;
}
