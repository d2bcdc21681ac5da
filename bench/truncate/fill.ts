import { mkdirSync } from 'node:fs';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import type { TileWrite } from '../../src/storage/tile-store.ts';
import { createSyntheticTiles } from './synthetic-tiles.ts';

/** A process of its own that writes square layers of tiles into a bundle store: `fill.ts ROOT LAYER=SIDE …` */
const ZOOM = 14;
/** Tiles along a side of one written block. */
const BATCH = 16;
/** Writes handed over before the first of them has ended. */
const AT_ONCE = 4;

const [root = '', ...layers] = process.argv.slice(2);
await fillStore(layers.map((named) => named.split('=')));

async function fillStore(layers: readonly string[][]): Promise<void> {
  mkdirSync(root, { recursive: true });
  const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  for (const [layer = '', side] of layers) {
    const set = { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
    const blocks = blocksOf(Number(side));
    const writeOn = async () => {
      for (const tiles of blocks) await store.putMany(set, ZOOM, tiles, 0);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, writeOn));
  }
  await store.close();
}

function* blocksOf(side: number): Generator<readonly TileWrite[]> {
  const tileAt = createSyntheticTiles();
  for (let top = 0; top < side; top += BATCH) {
    for (let left = 0; left < side; left += BATCH) {
      yield Array.from({ length: BATCH ** 2 }, (_, at) =>
        tileAt(left + (at % BATCH), top + Math.floor(at / BATCH)),
      );
    }
  }
}
