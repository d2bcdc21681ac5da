import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LogEntry, recordingLogger } from '../../test/fixtures/http-app.ts';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { createTileEvents, type TileEvent } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import type { Store } from '../storage/store.ts';
import type { QuotaConfiguration } from './quota-configuration.ts';
import { openQuotaService, type QuotaService } from './quota-service.ts';

const HOUR_AGO = () => Date.now() - 3_600_000;

let fixture: QuotaFixture;
const services: QuotaService[] = [];

beforeEach(async () => {
  fixture = await openQuotaFixture({ ...systemClock, now: HOUR_AGO });
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
  await fixture.close();
});

async function open(stores: ReadonlyMap<string, Store> = fixture.stores) {
  const events = createTileEvents();
  const seen: TileEvent[] = [];
  const entries: LogEntry[] = [];
  events.subscribe((event) => seen.push(event));
  const log = recordingLogger(entries);
  const service = await openQuotaService({
    database: fixture.database,
    stores,
    events,
    clock: systemClock,
    log,
  });
  services.push(service);
  return { service, events, seen, entries };
}

/** A quota of so many KiB, looked at every second. */
function quota(kib: number, more: Partial<QuotaConfiguration> = {}): Partial<QuotaConfiguration> {
  const globalQuota = { value: kib, units: 'KiB' } as const;
  return { enabled: true, cacheCleanUpFrequency: 1, globalExpirationPolicyName: 'LRU', globalQuota, ...more };
}

/** `pages` pages side by side, each a tile of 100 KB, in one tile set; long enough ago not to be in use. */
async function fill(layer: string, pages: readonly number[]): Promise<void> {
  for (const page of pages) await fixture.put(fixture.set(layer), 9, page * 16, 0, 100_000);
}

async function untilLookedAgain(): Promise<void> {
  await systemClock.sleep(1100);
}

async function pagesLeft(layer: string): Promise<number[]> {
  const left: number[] = [];
  for await (const pages of fixture.store.usage({ set: fixture.set(layer) }))
    for (const { pageX } of pages) left.push(pageX);
  return left.sort((a, b) => a - b);
}

function serve(events: ReturnType<typeof createTileEvents>, layer: string, page: number, at: number): void {
  events.emit({ type: 'served', set: fixture.set(layer), tile: { z: 9, x: page * 16, y: 0 }, at });
}

async function below(service: QuotaService, kib: number): Promise<void> {
  await expect.poll(async () => (await service.usage()).bytes).toBeLessThanOrEqual(kib * 1024);
}

describe('a quota', () => {
  it('a quota removes the pages used least recently, whole, and stops when the rest fits', async () => {
    const { service, events, seen } = await open();
    await fill('a', [0, 1, 2, 3, 4, 5]);
    await untilLookedAgain();
    serve(events, 'a', 0, Date.now());
    serve(events, 'a', 4, Date.now());
    await untilLookedAgain();
    await service.settings.change({ ...quota(0), globalQuota: { value: 400_000, units: 'B' } });
    await expect.poll(async () => (await service.usage()).evicted.pages).toBeGreaterThan(0);
    const left = await pagesLeft('a');
    expect(left).toEqual(expect.arrayContaining([0, 4]));
    expect(left).toHaveLength(4);
    const removed = seen.filter((event) => event.type === 'deleted');
    expect(removed).toHaveLength(2);
    expect(removed[0]).toMatchObject({ set: fixture.set('a'), z: 9, rect: { minY: 0, maxY: 15 } });
    expect((await service.usage()).evicted).toMatchObject({
      pages: removed.length,
      bytes: removed.length * 100_000,
    });
  });

  it('a quota removes the pages used least often under LFU', async () => {
    const { service, events } = await open();
    await fill('a', [0, 1, 2, 3]);
    await untilLookedAgain();
    for (const [page, hits] of [5, 1, 9, 0].entries()) {
      for (let hit = 0; hit < hits; hit++) serve(events, 'a', page, HOUR_AGO());
    }
    await service.settings.change(quota(250, { globalExpirationPolicyName: 'LFU' }));
    await below(service, 250);
    expect(await pagesLeft('a')).toEqual([0, 2]);
  });

  it('a quota of a layer counts before the global one, with its own policy', async () => {
    const { service, events } = await open();
    await fill('a', [0, 1, 2]);
    await fill('b', [0, 1, 2]);
    await untilLookedAgain();
    for (let hit = 0; hit < 5; hit++) serve(events, 'b', 0, HOUR_AGO());
    serve(events, 'b', 1, HOUR_AGO() + 1000);
    const quotaOfB = { value: 150, units: 'KiB' } as const;
    const layerQuotas = [{ layer: 'b', expirationPolicyName: 'LFU' as const, quota: quotaOfB }];
    await service.settings.change(quota(10_000, { layerQuotas }));
    await expect.poll(() => pagesLeft('b')).toEqual([0]);
    expect(await pagesLeft('a')).toEqual([0, 1, 2]);
  });

  it('a quota leaves a page alone that is in use this second', async () => {
    const { service, events } = await open();
    await fill('a', [0, 1]);
    await untilLookedAgain();
    const stop = new AbortController();
    const reading = (async () => {
      while (!stop.signal.aborted) {
        serve(events, 'a', 0, Date.now());
        await systemClock.sleep(50);
      }
    })();
    await service.settings.change(quota(0, { globalExpirationPolicyName: 'LFU' }));
    await expect.poll(() => pagesLeft('a')).toEqual([0]);
    await untilLookedAgain();
    expect(await pagesLeft('a')).toEqual([0]);
    stop.abort();
    await reading;
    await expect.poll(() => pagesLeft('a')).toEqual([]);
  });

  it('a quota that is disabled removes nothing, and still counts', async () => {
    const { service } = await open();
    await fill('a', [0, 1]);
    await untilLookedAgain();
    await service.settings.change({ ...quota(1), enabled: false });
    await untilLookedAgain();
    expect(await service.usage()).toMatchObject({ tiles: 2, quota: { enabled: false } });
  });

  it('a quota goes on after a page that could not be removed', async () => {
    let failures = 0;
    const failing: Store = {
      ...fixture.store,
      async edit(...given) {
        failures++;
        if (failures === 1) throw new TilewardenError('store-failed', 'The tile store failed.');
        return fixture.store.edit(...given);
      },
    };
    const { service, entries } = await open(new Map([['default', failing]]));
    await fill('a', [0, 1]);
    await untilLookedAgain();
    await service.settings.change(quota(0));
    await expect.poll(() => pagesLeft('a')).toEqual([]);
    expect(entries.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });
});

describe('what is known', () => {
  it('a store whose disk is read-only prevents no eviction from the others', async () => {
    const broken = await openQuotaFixture({ ...systemClock, now: () => HOUR_AGO() - 1000 });
    const edit = () => Promise.reject(new TilewardenError('store-failed', 'read-only'));
    try {
      await broken.put(broken.set('a'), 9, 0, 0, 100_000);
      await fill('a', [1, 2, 3]);
      const stores = new Map<string, Store>([
        ['broken', { ...broken.store, edit }],
        ['default', fixture.store],
      ]);
      const { service, events } = await open(stores);
      serve(events, 'a', 3, Date.now());
      await service.settings.change(quota(200));
      await expect.poll(() => pagesLeft('a')).toEqual([3]);
    } finally {
      await broken.close();
    }
  });

  it('the configuration of the quota and the uses of pages survive a restart', async () => {
    const first = await open();
    await fill('a', [0, 1]);
    await untilLookedAgain();
    serve(first.events, 'a', 0, Date.now());
    const changed = await first.service.settings.change({ globalQuota: { value: 1.5, units: 'GiB' } });
    await first.service.close();
    services.pop();
    const { service } = await open();
    expect(await service.settings.read()).toEqual(changed);
    await untilLookedAgain();
    await service.settings.change(quota(150));
    await below(service, 150);
    expect(await pagesLeft('a')).toEqual([0]);
  });

  it('usage is zero immediately for a dropped layer, with the bytes that are still being swept', async () => {
    const { service } = await open();
    await fill('a', [0, 1]);
    expect(await service.usage()).toMatchObject({ tiles: 2 });
    await fixture.store.drop('a', null);
    expect(await service.usage()).toMatchObject({ bytes: 0, tiles: 0, layers: [] });
    await expect.poll(async () => (await service.usage()).sweeping).toEqual({ files: 0, bytes: 0 });
  });
});
