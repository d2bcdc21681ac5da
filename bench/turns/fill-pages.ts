import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';

export const PAGES_OF_A_BUNDLE = 64;
const PAGES_PER_SIDE = 8;
const PAGE = 16;
const TILE_BYTES = 500;
export const ZOOM = 20;

/** So many pages of one tile each, in full bundles side by side. Returns how many bundles that are. */
export async function fillPages(root: string, layer: string, pages: number): Promise<number> {
  const set = { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  const tools = { root, log: silentLogger, clock: systemClock };
  const store = await openBundleStore(bundleStoreOptions(schemaKit).parse({ type: 'bundle' }), tools);
  const tiles = Array.from({ length: PAGES_OF_A_BUNDLE }, (_, page) => ({
    x: (page % PAGES_PER_SIDE) * PAGE,
    y: Math.floor(page / PAGES_PER_SIDE) * PAGE,
    bytes: Buffer.alloc(TILE_BYTES, page),
    createdAt: Date.now(),
  }));
  await store.putMany(set, ZOOM, tiles, 0);
  await store.close();
  return copyBundle(root, Math.max(1, Math.ceil(pages / PAGES_OF_A_BUNDLE)));
}

/** A bundle's tiles count from its corner, so that a copy of its file elsewhere equals one that was written. */
function copyBundle(root: string, bundles: number): number {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const file = join(root, names.find((name) => /0_0\/.*\.sqlite$/.test(name)) ?? '');
  const zoom = dirname(dirname(file));
  const side = Math.ceil(Math.sqrt(bundles));
  for (let bundle = 1; bundle < bundles; bundle++) {
    const folder = join(zoom, `${bundle % side}_${Math.floor(bundle / side)}`);
    mkdirSync(folder);
    copyFileSync(file, join(folder, `${bundle}.sqlite`));
  }
  return bundles;
}
