import { PAGE_SIZE, type TileSetKey } from '../../domain/tile-key.ts';
import type { PageStatistics, TileEntry } from '../tile-store.ts';
import type { ListedBundle } from './bundle-folders.ts';
import { BUNDLE_SIZE, placeOfKey, placeOfPage } from './bundle-grid.ts';
import type { EntryRow, PageRow } from './bundle-reader.ts';

const PAGES_PER_SIDE = BUNDLE_SIZE / PAGE_SIZE;

export function pageStatistics(
  set: TileSetKey,
  z: number,
  bundle: ListedBundle,
  row: PageRow,
): PageStatistics {
  const place = placeOfPage(row.page);
  return {
    set,
    z,
    pageX: bundle.bundleX * PAGES_PER_SIDE + place.x,
    pageY: bundle.bundleY * PAGES_PER_SIDE + place.y,
    tiles: row.tiles,
    bytes: row.bytes,
    writtenAt: row.written_at,
  };
}

export function tileEntry(z: number, bundle: ListedBundle, row: EntryRow): TileEntry {
  return { z, ...tilePlace(bundle, row.key), bytes: row.size, createdAt: row.created_at };
}

export function tilePlace(bundle: ListedBundle, key: number): { readonly x: number; readonly y: number } {
  const place = placeOfKey(key);
  return { x: bundle.bundleX * BUNDLE_SIZE + place.x, y: bundle.bundleY * BUNDLE_SIZE + place.y };
}
