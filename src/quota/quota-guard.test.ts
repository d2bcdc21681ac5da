import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { type Store, sumOfChanges } from '../storage/store.ts';
import { createQuotaSettings, DEFAULT_QUOTA_CONFIGURATION } from './quota-configuration.ts';
import { QuotaGuard } from './quota-guard.ts';
import { writersLimit } from './quota-scopes.ts';
import { openQuotaService } from './quota-service.ts';

const MIB = 1024 ** 2;
const TILE_BYTES = Buffer.alloc(MIB, 7);
/** Above a quota of a few MiB, in tiles of a MiB: where writers wait, and where those wait that clients wait for. */
const WRITERS = Math.ceil(writersLimit({ limit: 0 }, false) / MIB);
const RESERVED = Math.ceil(writersLimit({ limit: 0 }, true) / MIB);
/** More than any quota here allows. */
const MAX_WRITTEN = 60;

let fixture: QuotaFixture;
let memory: Store;
const guards: QuotaGuard[] = [];

beforeEach(async () => {
  fixture = await openQuotaFixture();
  memory = createMemoryStore({ type: 'memory' });
});
afterEach(async () => {
  for (const guard of guards.splice(0)) guard.close();
  await fixture.close();
});

interface Limits {
  readonly mib?: number;
  readonly layers?: Readonly<Record<string, number>>;
}

function settingsOf({ mib = 10_000, layers = {} }: Limits) {
  const layerQuotas = Object.entries(layers).map(([layer, value]) => ({
    layer,
    expirationPolicyName: 'LRU' as const,
    quota: { value, units: 'MiB' as const },
  }));
  const globalQuota = { value: mib, units: 'MiB' as const };
  return { read: async () => ({ ...DEFAULT_QUOTA_CONFIGURATION, enabled: true, globalQuota, layerQuotas }) };
}

interface Guarded {
  readonly settings?: ReturnType<typeof settingsOf>;
  readonly maxWaitMs?: number;
  readonly withReserve?: boolean;
}

/** A store as another process opens it. */
function guarded(store: Store, { settings, maxWaitMs = 0, withReserve = false }: Guarded): Store {
  const guard = new QuotaGuard({
    settings: settings ?? createQuotaSettings(fixture.database),
    stores: new Map([['default', store]]),
    clock: systemClock,
    log: silentLogger,
    maxWaitMs,
    withReserve,
  });
  guards.push(guard);
  return guard.guard(store);
}

/** One tile of a mebibyte, in a page of its own. */
async function write(store: Store, page: number, layer = 'roads'): Promise<void> {
  const tile = { x: page * 16, y: 0, bytes: TILE_BYTES, createdAt: Date.now() };
  await store.put(fixture.set(layer), 9, [tile], 0);
}

let nextPage = 0;
async function writtenBeforeRefusal(store: Store, layer?: string): Promise<number> {
  for (let written = 0; written < MAX_WRITTEN; written++) {
    const refused = await write(store, nextPage++, layer).then(
      () => false,
      (error: unknown) => (error as { code?: string }).code === 'store-full',
    );
    if (refused) return written;
  }
  return MAX_WRITTEN;
}

describe('a writer at the guard', () => {
  it('a writer at the guard goes through while no quota is in force', async () => {
    expect(await writtenBeforeRefusal(guarded(memory, {}))).toBe(MAX_WRITTEN);
  });

  it('a writer at the guard is refused at its limit above the quota, to the tile', async () => {
    const settings = settingsOf({ mib: 5 });
    expect(await writtenBeforeRefusal(guarded(memory, { settings }))).toBe(5 + WRITERS);
  });

  it('a writer at the guard counts what other processes wrote, and goes further if a client waits', async () => {
    const settings = settingsOf({ mib: 5 });
    for (let tile = 0; tile < 20; tile++) await write(memory, nextPage++);
    expect(await writtenBeforeRefusal(guarded(memory, { settings }))).toBe(5 + WRITERS - 20);
    expect(await writtenBeforeRefusal(guarded(memory, { settings }))).toBe(0);
    const forClients = guarded(memory, { settings, withReserve: true });
    expect(await writtenBeforeRefusal(forClients)).toBe(RESERVED - WRITERS);
  });

  it('a writer at the guard is held back by the quota of its own layer alone', async () => {
    const store = guarded(memory, { settings: settingsOf({ layers: { small: 2 } }) });
    expect(await writtenBeforeRefusal(store, 'small')).toBe(2 + WRITERS);
    expect(await writtenBeforeRefusal(store, 'roads')).toBe(MAX_WRITTEN);
  });

  it('writers of one process that come together do not pass the limit together', async () => {
    const slow: Store = {
      ...memory,
      async put(...parameters) {
        await systemClock.sleep(5);
        return memory.put(...parameters);
      },
    };
    const store = guarded(slow, { settings: settingsOf({ mib: 5 }), maxWaitMs: 600_000 });
    const all = Promise.allSettled(Array.from({ length: MAX_WRITTEN }, (_, page) => write(store, page)));
    const written = async () => sumOfChanges((await memory.usage()).levels).tiles;
    await expect.poll(written, { timeout: 60_000 }).toBeGreaterThanOrEqual(5 + WRITERS);
    for (const guard of guards) guard.close();
    await all;
    expect(await written()).toBeLessThanOrEqual(5 + WRITERS + 1);
  });

  it('a writer at the guard waits, and goes on when there is room', async () => {
    const store = guarded(memory, { settings: settingsOf({ mib: 0 }), maxWaitMs: 60_000 });
    for (let tile = 0; tile < WRITERS; tile++) await write(store, tile);
    const waiting = write(store, 100);
    await memory.drop('roads', null);
    await waiting;
    expect(await memory.get(fixture.set('roads'), { z: 9, x: 1600, y: 0 })).not.toBeNull();
  });

  it('a writer at the guard does not wait for ever when the guard is closed', async () => {
    const store = guarded(memory, { settings: settingsOf({ mib: 0 }), maxWaitMs: 60_000 });
    for (let tile = 0; tile < WRITERS; tile++) await write(store, tile);
    const waiting = write(store, 100);
    for (const guard of guards) guard.close();
    await expect(waiting).rejects.toMatchObject({ code: 'store-full' });
  });

  it('a writer at the guard goes by the last known room while the usage cannot be read', async () => {
    const failing = { ...memory, usage: () => Promise.reject(new Error('away')) } as Store;
    expect(await writtenBeforeRefusal(guarded(failing, { settings: settingsOf({ mib: 0 }) }))).toBe(
      MAX_WRITTEN,
    );
  });
});

it('usage stays within the tolerance, however fast processes write', async () => {
  const limit = 5 * MIB;
  const service = await openQuotaService({
    database: fixture.database,
    stores: fixture.stores,
    events: createTileEvents(),
    clock: systemClock,
    log: silentLogger,
  });
  await service.settings.change({
    enabled: true,
    globalExpirationPolicyName: 'LRU',
    globalQuota: { value: 5, units: 'MiB' },
  });
  const stop = new AbortController();
  const patient = { maxWaitMs: 60_000 };
  const stores = [guarded(fixture.store, patient), guarded(await fixture.another(), patient)];
  const writers = stores.map(async (store, at) => {
    for (let place = 0; place < 50; place++) await write(store, 2 * place + at);
  });
  let highest = 0;
  const looking = (async () => {
    while (!stop.signal.aborted) {
      highest = Math.max(highest, (await service.usage()).bytes);
      await systemClock.sleep(20);
    }
  })();
  await Promise.all(writers);
  stop.abort();
  await looking;
  expect(highest).toBeGreaterThan(limit);
  expect(highest).toBeLessThanOrEqual(limit + (WRITERS + 2) * MIB);
  await expect
    .poll(async () => (await service.usage()).bytes, { timeout: 20_000 })
    .toBeLessThanOrEqual(limit);
  // More than the tolerance: the writers were not merely let through.
  expect((await service.usage()).evicted.bytes).toBeGreaterThan(64 * MIB);
  await service.close();
});
