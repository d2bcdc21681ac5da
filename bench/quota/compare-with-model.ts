import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/db/open-database.ts';
import { createTileEvents } from '../../src/domain/tile-events.ts';
import { PAGE_SIZE } from '../../src/domain/tile-key.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import type { ExpirationPolicy } from '../../src/quota/quota-configuration.ts';
import { createQuotaCredit } from '../../src/quota/quota-credit.ts';
import { QuotaGate } from '../../src/quota/quota-gate.ts';
import { openQuotaService } from '../../src/quota/quota-service.ts';
import { openBundleStore } from '../../src/storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../../src/storage/bundle/bundle-store-options.ts';
import { ExactModel, rankCorrelation } from './exact-model.ts';

export interface ModelComparison {
  readonly pages: number;
  readonly evicted: number;
  readonly correlation: number;
  /** The share of the pages that the model keeps which are there. */
  readonly keptAlike: number;
}

const ZOOM = 14;
const QUOTA_MIB = 16;
const PAGES = 1200;
const TILES_OF_A_PAGE = 16;
const TILE_BYTES = 5000;
/** Pages along a row of what is written. */
const ROW = 64;
/** Milliseconds. */
const PAUSE = 8;

/** Writes and reads pages through the real parts beside a model that hears of the same writes, reads and removals. */
export async function compareWithModel(parent: string, policy: ExpirationPolicy): Promise<ModelComparison> {
  const folder = mkdtempSync(join(parent, 'tilewarden-model-'));
  const tools = { log: silentLogger, clock: systemClock };
  const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...tools });
  const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
  const bundles = await openBundleStore(options, { root: join(folder, 'store'), ...tools });
  const credit = createQuotaCredit(database);
  const gate = new QuotaGate({ credit, patience: 60_000, withReserve: false, ...tools });
  const store = gate.guard(bundles);
  const events = createTileEvents();
  const quota = await openQuotaService({ database, stores: new Map([['default', store]]), events, ...tools });
  await quota.settings.change({
    enabled: true,
    globalExpirationPolicyName: policy,
    globalQuota: { value: QUOTA_MIB, units: 'MiB' },
  });

  const set = { layer: 'map', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
  const model = new ExactModel(policy);
  const gone: number[] = [];
  events.subscribe((event) => {
    if (event.type !== 'deleted') return;
    gone.push((event.rect.minY / PAGE_SIZE) * ROW + event.rect.minX / PAGE_SIZE);
    model.evictOne(event.at);
  });

  async function write(page: number): Promise<void> {
    const [left, top] = [(page % ROW) * PAGE_SIZE, Math.floor(page / ROW) * PAGE_SIZE];
    const tiles = Array.from({ length: TILES_OF_A_PAGE }, (_, at) => ({
      x: left + at,
      y: top,
      bytes: Buffer.alloc(TILE_BYTES, page + at),
      createdAt: Date.now(),
    }));
    await store.putMany(set, ZOOM, tiles, 0);
    model.written(page, Date.now());
  }

  /** Mostly the pages that were written first, as far as they are there. */
  function read(): void {
    const present = model.kept.toSorted((a, b) => a - b);
    const page = present[Math.floor(present.length * Math.random() ** 3)];
    if (page === undefined) return;
    const tile = { z: ZOOM, x: (page % ROW) * PAGE_SIZE, y: Math.floor(page / ROW) * PAGE_SIZE };
    const at = Date.now();
    events.emit({ type: 'served', set, tile, at });
    model.read(page, at);
  }

  try {
    for (let page = 0; page < PAGES; page++) {
      await write(page);
      read();
      await delay(PAUSE);
    }
    const pages = Array.from({ length: PAGES }, (_, page) => page);
    const alike = model.kept.filter((page) => !gone.includes(page)).length;
    const correlation = rankCorrelation(pages, gone, model.evicted);
    return { pages: PAGES, evicted: gone.length, correlation, keptAlike: alike / model.kept.length };
  } finally {
    gate.close();
    await quota.close();
    await bundles.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
