import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { createQuotaCredit, EVERYTHING, type QuotaCredit, scopeOfLayer } from './quota-credit.ts';
import { QuotaGate } from './quota-gate.ts';
import { openQuotaService } from './quota-service.ts';

const MIB = 1024 ** 2;
const TILE_BYTES = Buffer.alloc(MIB, 7);
let fixture: QuotaFixture;
let credit: QuotaCredit;
let memory: TileStore;
const gates: QuotaGate[] = [];

beforeEach(async () => {
  fixture = await openQuotaFixture();
  credit = createQuotaCredit(fixture.database);
  memory = createMemoryStore({ type: 'memory' });
});
afterEach(async () => {
  for (const gate of gates.splice(0)) gate.close();
  await fixture.close();
});

function guarded(maxWaitMs: number, withReserve = false, store = memory): TileStore {
  const gate = new QuotaGate({ credit, clock: systemClock, log: silentLogger, maxWaitMs, withReserve });
  gates.push(gate);
  return gate.guard(store);
}

/** One tile of a mebibyte. */
async function write(store: TileStore, place: number, layer = 'roads'): Promise<void> {
  const tile = {
    x: place % 512,
    y: Math.floor(place / 512),
    bytes: TILE_BYTES,
    createdAt: Date.now(),
  };
  await store.put(fixture.set(layer), 9, [tile], 0);
}

const MAX_WRITTEN = 40;

async function writtenBeforeRefusal(store: TileStore, layer?: string): Promise<number> {
  for (let written = 0; written < MAX_WRITTEN; written++) {
    const refused = await write(store, written * 16, layer).then(
      () => false,
      (error: unknown) => (error as { code?: string }).code === 'store-full',
    );
    if (refused) return written;
  }
  return MAX_WRITTEN;
}

describe('a writer at the gate', () => {
  it('a writer at the gate goes through while there is no quota', async () => {
    expect(await writtenBeforeRefusal(guarded(0))).toBe(MAX_WRITTEN);
  });

  it('a writer at the gate is refused when the credit is used up, a few bytes beside', async () => {
    await credit.allow([{ scope: EVERYTHING, allowed: 10 * MIB, reserve: 0 }]);
    const written = await writtenBeforeRefusal(guarded(0));
    expect(written).toBeGreaterThanOrEqual(8);
    expect(written).toBeLessThanOrEqual(12);
  });

  it('a writer at the gate shares one credit with other processes, and has more of it for clients', async () => {
    await credit.allow([{ scope: EVERYTHING, allowed: 10 * MIB, reserve: 5 * MIB }]);
    const both = (await writtenBeforeRefusal(guarded(0))) + (await writtenBeforeRefusal(guarded(0)));
    expect(both).toBeLessThanOrEqual(12);
    expect(await writtenBeforeRefusal(guarded(0, true))).toBeGreaterThanOrEqual(3);
  });

  it('a writer at the gate is held back by the quota of its own layer alone', async () => {
    await credit.allow([
      { scope: EVERYTHING, allowed: 1000 * MIB, reserve: 0 },
      { scope: scopeOfLayer('small'), allowed: 2 * MIB, reserve: 0 },
    ]);
    const store = guarded(0);
    expect(await writtenBeforeRefusal(store, 'small')).toBeLessThanOrEqual(4);
    expect(await writtenBeforeRefusal(store, 'roads')).toBe(MAX_WRITTEN);
  });

  it('a writer at the gate waits, and goes on when more is allowed', async () => {
    await credit.allow([{ scope: EVERYTHING, allowed: 0, reserve: 0 }]);
    const waiting = write(guarded(10_000), 0);
    await credit.allow([{ scope: EVERYTHING, allowed: 5 * MIB, reserve: 0 }]);
    await waiting;
    expect(await memory.get(fixture.set('roads'), { z: 9, x: 0, y: 0 })).not.toBeNull();
  });

  it('a writer at the gate does not wait for ever when the gate is closed', async () => {
    await credit.allow([{ scope: EVERYTHING, allowed: 0, reserve: 0 }]);
    const waiting = write(guarded(60_000), 0);
    await systemClock.sleep(50);
    for (const gate of gates) gate.close();
    await expect(waiting).rejects.toMatchObject({ code: 'store-full' });
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
  await expect.poll(async () => (await credit.read()).length).toBe(1);
  const stop = new AbortController();
  const writers = [
    guarded(20_000, false, fixture.store),
    guarded(20_000, false, await fixture.another()),
  ].map(async (store, at) => {
    for (let place = 0; place < 50 && !stop.signal.aborted; place++)
      await write(store, (2 * place + at) * 16);
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
  expect(highest).toBeLessThanOrEqual(limit + 64 * MIB);
  await expect.poll(async () => (await service.usage()).bytes).toBeLessThanOrEqual(limit);
  // More than the tolerance: the writers were not merely let through.
  expect((await service.usage()).evicted.bytes).toBeGreaterThan(64 * MIB);
  await service.close();
});
