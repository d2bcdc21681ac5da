import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { openBundles, tileSet } from '../harness/tile-store.ts';

export const PAGES_OF_A_BUNDLE = 64;
const PAGES_PER_SIDE = 8;
const PAGE = 16;
const TILE_BYTES = 500;
export const ZOOM = 20;

/** Pages of one tile each, in full bundles side by side. Returns the number of bundles. */
export async function fillPages(root: string, layer: string, pages: number): Promise<number> {
  const store = await openBundles(root);
  const tiles = Array.from({ length: PAGES_OF_A_BUNDLE }, (_, page) => ({
    x: (page % PAGES_PER_SIDE) * PAGE,
    y: Math.floor(page / PAGES_PER_SIDE) * PAGE,
    bytes: Buffer.alloc(TILE_BYTES, page),
    createdAt: Date.now(),
  }));
  await store.put(tileSet(layer), ZOOM, tiles, 0);
  await store.close();
  const bundles = Math.max(1, Math.ceil(pages / PAGES_OF_A_BUNDLE));
  copyBundle(root, bundles);
  return bundles;
}

/** Tiles of copies have no proof of their place, as those of version 0.2: they are shown. */
function copyBundle(root: string, bundles: number): void {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const file = join(root, names.find((name) => /0_0\/.*\.sqlite$/.test(name)) ?? '');
  new BetterSqlite3(file).exec('UPDATE tile SET proof = NULL').close();
  const zoom = dirname(dirname(file));
  const side = Math.ceil(Math.sqrt(bundles));
  for (let bundle = 1; bundle < bundles; bundle++) {
    const folder = join(zoom, `${bundle % side}_${Math.floor(bundle / side)}`);
    mkdirSync(folder);
    copyFileSync(file, join(folder, `${bundle}.sqlite`));
  }
}
