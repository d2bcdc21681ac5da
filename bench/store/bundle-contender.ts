import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import type { Contender } from './contender.ts';

const SET = { layer: 'bench', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const ZOOM = 14;

export async function openBundleContender(root: string): Promise<Contender> {
  const options = bundleStoreOptions(schemaKit).parse({
    type: 'bundle',
    sweepBytesPerSecond: 100 * 1024 ** 3,
  });
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  return {
    name: 'bundles',
    root,
    async write(tiles) {
      await store.putMany(SET, ZOOM, tiles, 0);
    },
    async read(x, y) {
      const tile = await store.get(SET, { z: ZOOM, x, y });
      if (!tile) throw new Error(`tile ${x}, ${y} is missing`);
      return tile.bytes.length;
    },
    async deleteRange(rect) {
      await store.deleteRange(SET, ZOOM, rect);
    },
    drop: () => store.dropLayer(SET.layer),
    async freed() {
      while ((await store.sweeping()).files > 0) await delay(5);
    },
    close: () => store.close(),
  };
}
