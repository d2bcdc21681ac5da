import { once } from 'node:events';
import { join } from 'node:path';
import { openDatabase } from '../../src/db/open-database.ts';
import { isTilewardenError } from '../../src/domain/errors.ts';
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { loadEvictions } from '../../src/quota/evictions.ts';
import { openQuotaService } from '../../src/quota/quota-service.ts';
import { openSegmentStore } from '../../src/storage/segments/segment-store.ts';

/**
 * Writes, overwrites, truncates and evicts until it is killed. The time of each tile is the generation it was made
 * under; the parent receives a message for every finished truncation, `{ layer, generation }`, for every step, and
 * when quotas have removed something. Begins on a message:
 * starting takes longer than working, and the next process starts while this one works. With `evicts` it truncates
 * nothing before quotas have removed something: it writes so fast that otherwise no page would live long enough to be removed.
 */
const [folder = '', evicts] = process.argv.slice(2);
const tools = { log: silentLogger, clock: systemClock };
process.send?.('ready');
await once(process, 'message');
const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29 };
const store = await openSegmentStore(options, { root: join(folder, 'store'), ...tools });
const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...tools });
const events = createTileEvents();
const quota = await openQuotaService({ database, stores: new Map([['default', store]]), events, ...tools });
await quota.settings.change({
  enabled: true,
  cacheCleanUpFrequency: 1,
  globalExpirationPolicyName: 'LRU',
  globalQuota: { value: 2, units: 'MiB' },
});
process.send?.('working');

const LAYERS = ['a', 'b'];
const evictedBefore = await evictedPages();
let truncates = evicts === undefined;
for (let step = 0; ; step++) {
  const layer = LAYERS[step % LAYERS.length] ?? 'a';
  if (truncates && Math.random() < 0.05) await truncate(layer);
  await write(layer);
  process.send?.('stepped');
  if (Math.random() >= 0.1 || (await evictedPages()) <= evictedBefore) continue;
  truncates = true;
  process.send?.('evicted');
}

async function evictedPages(): Promise<number> {
  await quota.usage();
  return (await loadEvictions(database)).total.pages;
}

async function truncate(layer: string): Promise<void> {
  const raises = [{ layer, places: null, effect: null }];
  const [generation = 0] = await store.mark({ type: 'raise', raises });
  await store.drop(layer, null);
  process.send?.({ layer, generation });
}

async function write(layer: string): Promise<void> {
  const set = { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  const { number, generation } = await store.ticket(layer);
  const [left, top] = [Math.floor(Math.random() * 250), Math.floor(Math.random() * 250)];
  const tiles = Array.from({ length: 16 }, (_, at) => ({
    x: left + (at % 4),
    y: top + Math.floor(at / 4),
    bytes: Buffer.alloc(Math.floor(Math.random() * 12_000), `${generation};`),
    createdAt: generation,
  }));
  await store.put(set, 9, tiles, number).catch((error: unknown) => {
    if (!isTilewardenError(error, 'generation-stale')) throw error;
  });
  events.emit({ type: 'served', set, tile: { z: 9, x: left, y: top }, at: Date.now() });
}
