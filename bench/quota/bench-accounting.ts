import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../../src/db/open-database.ts';
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openQuotaService, type QuotaService } from '../../src/quota/quota-service.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import { createSyntheticTiles } from '../store/synthetic-tiles.ts';

/** npm run bench:accounting -- [--rounds 6]: writes tiles by turns with the ledger watching them and without. */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '6' }, tiles: { type: 'string', default: '20000' } },
});
const METATILE = 4;
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const tools = { log: silentLogger, clock: systemClock };
const options = bundleStoreOptions.parse({ type: 'bundle' });
const store = await openBundleStore(options, { root: join(folder, 'store'), ...tools });
const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...tools });
const tileAt = createSyntheticTiles();
const side = Math.floor(Math.sqrt(Number(values.tiles)) / METATILE) * METATILE;
const seconds = { watched: 0, alone: 0 };

for (let round = 0; round < 2 * Number(values.rounds); round++) {
  const watched = round % 2 === 0;
  const quota = watched ? await watch() : null;
  const begun = performance.now();
  await write(`layer ${round}`);
  seconds[watched ? 'watched' : 'alone'] += (performance.now() - begun) / 1000;
  await quota?.close();
}
await store.close();
await database.close();
const tiles = side * side * Number(values.rounds);
const rate = (time: number) => `${Math.round(tiles / time)} tiles/s`;
process.stdout.write(
  `with the ledger ${rate(seconds.watched)}, without ${rate(seconds.alone)}: ${((seconds.watched / seconds.alone - 1) * 100).toFixed(1)} % more time\n`,
);

/** A quota that is never reached, so that the usage is looked at every second and nothing removed. */
async function watch(): Promise<QuotaService> {
  const stores = new Map([['default', store]]);
  const service = await openQuotaService({ database, stores, events: createTileEvents(), ...tools });
  await service.settings.change({ enabled: true, globalQuota: { value: 1, units: 'TiB' } });
  return service;
}

async function write(layer: string): Promise<void> {
  const set = { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  for (let top = 0; top < side; top += METATILE) {
    for (let left = 0; left < side; left += METATILE) {
      const block = Array.from({ length: METATILE ** 2 }, (_, at) =>
        tileAt(left + (at % METATILE), top + Math.floor(at / METATILE)),
      );
      await store.putMany(set, 14, block, 0);
    }
  }
}
