import { PAGE_SIZE } from '../../domain/tile-key.ts';
import { intersectRects, type TileRect } from '../../domain/tile-rect.ts';

/** Tiles along a side of a bundle. */
export const BUNDLE_SIZE = 128;

const PAGES_PER_SIDE = BUNDLE_SIZE / PAGE_SIZE;
export const PAGES_PER_BUNDLE = PAGES_PER_SIDE * PAGES_PER_SIDE;
export const TILES_PER_PAGE = PAGE_SIZE * PAGE_SIZE;

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

export function bundleRect(bundleX: number, bundleY: number): TileRect {
  const minX = bundleX * BUNDLE_SIZE;
  const minY = bundleY * BUNDLE_SIZE;
  return { minX, minY, maxX: minX + BUNDLE_SIZE - 1, maxY: minY + BUNDLE_SIZE - 1 };
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

/** Columns and rows counted from the bundle's corner. */
export function placeOfKey(key: number): { readonly x: number; readonly y: number } {
  const page = placeOfPage(pageOfKey(key));
  const within = key % TILES_PER_PAGE;
  return {
    x: page.x * PAGE_SIZE + (within % PAGE_SIZE),
    y: page.y * PAGE_SIZE + Math.floor(within / PAGE_SIZE),
  };
}

/** In pages, counted from the bundle's corner. */
export function placeOfPage(page: number): { readonly x: number; readonly y: number } {
  return { x: page % PAGES_PER_SIDE, y: Math.floor(page / PAGES_PER_SIDE) };
}

export function keysOfPage(page: number): KeyRange {
  return { first: page * TILES_PER_PAGE, last: (page + 1) * TILES_PER_PAGE - 1 };
}

/** The pages of a bundle that `rect`, given in tiles of the zoom, touches. */
export function* coverOfBundle(bundleX: number, bundleY: number, rect: TileRect): Generator<PageCover> {
  for (let page = 0; page < PAGES_PER_BUNDLE; page++) {
    const shared = intersectRects(pageRect(bundleX, bundleY, page), rect);
    if (shared) yield coverOfPage(page, shared);
  }
}

function coverOfPage(page: number, shared: TileRect): PageCover {
  const width = shared.maxX - shared.minX + 1;
  const height = shared.maxY - shared.minY + 1;
  if (width * height === TILES_PER_PAGE) return { page, whole: true, ranges: [keysOfPage(page)] };
  const ranges = Array.from({ length: height }, (_, row) => ({
    first: keyOfTile(shared.minX, shared.minY + row),
    last: keyOfTile(shared.maxX, shared.minY + row),
  }));
  return { page, whole: false, ranges };
}

function pageRect(bundleX: number, bundleY: number, page: number): TileRect {
  const place = placeOfPage(page);
  const minX = bundleX * BUNDLE_SIZE + place.x * PAGE_SIZE;
  const minY = bundleY * BUNDLE_SIZE + place.y * PAGE_SIZE;
  return { minX, minY, maxX: minX + PAGE_SIZE - 1, maxY: minY + PAGE_SIZE - 1 };
}

function pageInBundle(x: number, y: number): number {
  const column = Math.floor((x % BUNDLE_SIZE) / PAGE_SIZE);
  const row = Math.floor((y % BUNDLE_SIZE) / PAGE_SIZE);
  return row * PAGES_PER_SIDE + column;
}
