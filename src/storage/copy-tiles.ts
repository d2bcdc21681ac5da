import { falseIfOutdated, TilewardenError } from '../domain/errors.ts';
import { PAGE_SIZE } from '../domain/tile-key.ts';
import { blockAt, type TileRect } from '../domain/tile-rect.ts';
import { countStored, pagesIn, presentTiles, readPage, tileSetsIn } from './read-tiles.ts';
import type { PageUsage, Store, TileWrite } from './store.ts';

export interface CopyOptions {
  readonly from: Store;
  readonly to: Store;
  /** Null: all layers that have tiles. */
  readonly layer: string | null;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly tiles: number; readonly expected: number }) => void;
}

export interface CopyResult {
  readonly tiles: number;
  readonly bytes: number;
  /** Tiles that an earlier run has copied. */
  readonly present: number;
}

/** Attempts to copy a page, which is repeated after a truncation or another write during the copy. */
const MAX_ATTEMPTS = 5;
/** Milliseconds within which a tile is stored after its creation. */
const MAX_MAKING_MS = 600_000;

/**
 * Copies tiles that `to` lacks or has an older version of, page by page, and reads them back. Removes nothing from `to`:
 * truncations are applied to every store. Both may be in use. Pages that are equal in both are skipped, so that an
 * interrupted copy continues where it stopped.
 */
export async function copyTiles({ from, to, layer, signal, onProgress }: CopyOptions): Promise<CopyResult> {
  const total = { tiles: 0, bytes: 0, present: 0 };
  let expected = 0;
  for await (const { tiles } of pagesOf(from, layer)) expected += tiles;
  for await (const page of pagesOf(from, layer)) {
    signal.throwIfAborted();
    const present = await isCopied(from, to, page);
    const copied = present ? page : await copyPage(from, to, page, signal);
    total.tiles += copied.tiles;
    total.bytes += copied.bytes;
    total.present += present ? page.tiles : 0;
    onProgress({ tiles: total.tiles, expected });
  }
  return total;
}

async function* pagesOf(store: Store, layer: string | null): AsyncGenerator<PageUsage> {
  for (const set of await tileSetsIn(store, layer)) yield* pagesIn(store, { set });
}

function rectOf({ pageX, pageY }: PageUsage): TileRect {
  return blockAt(pageX, pageY, PAGE_SIZE);
}

/** Whether both have equal sums in the page, and equally many tiles from around its last write: copies keep `createdAt`. */
async function isCopied(from: Store, to: Store, page: PageUsage): Promise<boolean> {
  const { set, z, tiles, bytes, writtenAt } = page;
  const there = await countStored(to, set, z, rectOf(page));
  if (there.tiles !== tiles || there.bytes !== bytes) return false;
  const recent = (store: Store) => presentTiles(store, set, z, rectOf(page), writtenAt - MAX_MAKING_MS);
  const [ours, theirs] = await Promise.all([recent(from), recent(to)]);
  return ours.length === theirs.length;
}

async function copyPage(from: Store, to: Store, page: PageUsage, signal: AbortSignal) {
  const { set, z } = page;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    signal.throwIfAborted();
    // Read before the tiles, so that `put` refuses those that are truncated in the meantime.
    const generation = await to.marks(set.layer, { gridSet: set.gridSet, z, rect: rectOf(page) });
    const tiles = await writesOf(from, page);
    const stored = await to.put(set, z, tiles, generation).catch(falseIfOutdated);
    if (stored && (await isSame(to, page, tiles))) {
      return { tiles: tiles.length, bytes: tiles.reduce((sum, { bytes }) => sum + bytes.length, 0) };
    }
  }
  const place = `${set.layer}, zoom ${z}, page ${page.pageX},${page.pageY}`;
  throw new TilewardenError('store-failed', `The copy of a page is not what was copied: ${place}.`);
}

function writesOf(store: Store, { set, z, pageX, pageY }: PageUsage): Promise<readonly TileWrite[]> {
  return readPage(store, set, { z, x: pageX * PAGE_SIZE, y: pageY * PAGE_SIZE });
}

/** Whether the store has each of the tiles, or a newer one. */
async function isSame(store: Store, page: PageUsage, tiles: readonly TileWrite[]): Promise<boolean> {
  const found = new Map((await writesOf(store, page)).map((tile) => [`${tile.x} ${tile.y}`, tile]));
  return tiles.every(({ x, y, bytes, createdAt }) => {
    const tile = found.get(`${x} ${y}`);
    return tile !== undefined && (tile.bytes.equals(bytes) || tile.createdAt > createdAt);
  });
}
