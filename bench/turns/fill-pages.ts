import { openTiles, tileSet } from '../harness/tile-store.ts';

const PAGE = 16;
const TILE_BYTES = 500;
const BATCH = 4096;
export const ZOOM = 20;

/** Pages of one tile each, in a square. Returns the pages along its side. */
export async function fillPages(root: string, layer: string, pages: number): Promise<number> {
  const store = await openTiles(root);
  const side = Math.ceil(Math.sqrt(pages));
  for (let first = 0; first < pages; first += BATCH) {
    const tiles = Array.from({ length: Math.min(BATCH, pages - first) }, (_, at) => ({
      x: ((first + at) % side) * PAGE,
      y: Math.floor((first + at) / side) * PAGE,
      bytes: Buffer.alloc(TILE_BYTES, at),
      createdAt: Date.now(),
    }));
    await store.put(tileSet(layer), ZOOM, tiles, 0);
  }
  await store.close();
  return side;
}
