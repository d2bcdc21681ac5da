import { join } from 'node:path';
import { openDatabase } from '../../src/db/open-database.ts';
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { createQuotaCredit } from '../../src/quota/quota-credit.ts';
import { QuotaGate } from '../../src/quota/quota-gate.ts';
import { openQuotaService } from '../../src/quota/quota-service.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import type { TileStore } from '../../src/storage/tile-store.ts';
import { createSyntheticTiles } from '../store/synthetic-tiles.ts';

/**
 * A process of its own that writes tiles into a store as a seed does, metatile by metatile, and prints how long it took:
 * `write-tiles.ts FOLDER SIDE counted|uncounted`. Counted: a quota is in force that is never reached, so that writers
 * pass its gate and the usage is looked at four times a second.
 */
const METATILE = 4;
/** Tiles along a side of what is written before, for the engine to warm up. */
const WARM_UP_SIDE = 64;

const [folder = '', side, how] = process.argv.slice(2);
const tools = { log: silentLogger, clock: systemClock };
const tileAt = createSyntheticTiles();
const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
const store = await openBundleStore(options, { root: join(folder, 'store'), ...tools });
const { writing, close } = how === 'counted' ? await counted() : { writing: store, close: async () => {} };
await write(writing, 'warm-up', WARM_UP_SIDE);
const cpu = process.cpuUsage();
const begun = performance.now();
await write(writing, 'measured', Number(side));
const seconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage(cpu);
await close();
await store.close();
process.stdout.write(JSON.stringify({ seconds, processorMs: (user + system) / 1000 }));

async function counted() {
  const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...tools });
  const credit = createQuotaCredit(database);
  const gate = new QuotaGate({ credit, patience: 60_000, withReserve: false, ...tools });
  const stores = new Map([['default', store]]);
  const service = await openQuotaService({ database, stores, events: createTileEvents(), ...tools });
  await service.settings.change({ enabled: true, globalQuota: { value: 1, units: 'TiB' } });
  return {
    writing: gate.guard(store),
    async close() {
      gate.close();
      await service.close();
      await database.close();
    },
  };
}

async function write(into: TileStore, layer: string, length: number): Promise<void> {
  const set = { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  for (let top = 0; top < length; top += METATILE) {
    for (let left = 0; left < length; left += METATILE) {
      const metatile = Array.from({ length: METATILE ** 2 }, (_, at) =>
        tileAt(left + (at % METATILE), top + Math.floor(at / METATILE)),
      );
      await into.putMany(set, 14, metatile, 0);
    }
  }
}
