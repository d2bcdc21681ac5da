import { pageOf, type TileSetKey } from '../../src/domain/tile-key.ts';
import { pagesIn } from '../../src/storage/read-tiles.ts';
import type { PageUsage, Raise, Store, StoreChange, TileEntry, TileWrite } from '../../src/storage/store.ts';

export const NOTHING: StoreChange = { tiles: 0, bytes: 0 };

export function tile(x: number, y: number, content: string, createdAt = 1): TileWrite {
  return { x, y, bytes: Buffer.from(content), createdAt };
}

/** Returns the number. */
export async function raise(
  store: Pick<Store, 'mark'>,
  layer: string,
  places: Raise['places'] = null,
  effect: Raise['effect'] = null,
): Promise<number> {
  return (await store.mark({ type: 'raise', raises: [{ layer, places, effect }] }))[0] ?? 0;
}

export async function closeMark(store: Pick<Store, 'mark'>, number: number): Promise<void> {
  await store.mark({ type: 'close', numbers: [number] });
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

export async function* tilesIn(
  store: Pick<Store, 'list'>,
  set: TileSetKey,
  z: number,
): AsyncGenerator<TileEntry> {
  for await (const some of store.list(set, z)) yield* some;
}

/** The content of a page, without times. */
type PageCounts = Pick<PageUsage, 'set' | 'z' | 'pageX' | 'pageY' | 'tiles' | 'bytes'>;

export function sortedPages(pages: Iterable<PageCounts>): PageCounts[] {
  return Array.from(pages, ({ set, z, pageX, pageY, tiles, bytes }) => ({
    set,
    z,
    pageX,
    pageY,
    tiles,
    bytes,
  })).sort((a, b) => a.z - b.z || a.pageY - b.pageY || a.pageX - b.pageX);
}

/** The pages that `usage` should return, computed from every tile. */
export async function recount(store: Store, set: TileSetKey): Promise<PageCounts[]> {
  const pages = new Map<string, PageCounts>();
  const zooms = new Set((await collect(pagesIn(store, { set }))).map((page) => page.z));
  for (const z of zooms) {
    for await (const { x, y } of tilesIn(store, set, z)) {
      const found = await store.get(set, { z, x, y });
      if (!found) continue;
      const [pageX, pageY] = [pageOf(x), pageOf(y)];
      const id = `${z} ${pageX} ${pageY}`;
      const { tiles, bytes } = pages.get(id) ?? NOTHING;
      pages.set(id, { set, z, pageX, pageY, tiles: tiles + 1, bytes: bytes + found.bytes.length });
    }
  }
  return sortedPages(pages.values());
}
