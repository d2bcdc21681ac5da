import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { createTileEvents } from '../domain/tile-events.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openQuotaService, type UsageReport } from './quota-service.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGUN = Date.UTC(2026, 5, 1);

let fixture: QuotaFixture;
beforeEach(async () => {
  fixture = await openQuotaFixture();
});
afterEach(() => fixture.close());

/** What a server that is started then and soon stopped says. */
async function usageAt(time: number): Promise<UsageReport> {
  const service = await openQuotaService({
    database: fixture.database,
    stores: fixture.stores,
    events: createTileEvents(),
    clock: { ...systemClock, now: () => time },
    log: silentLogger,
  });
  try {
    return await service.usage();
  } finally {
    await service.close();
  }
}

async function write(z: number, tiles: number): Promise<void> {
  for (let x = 0; x < tiles; x++) await fixture.put(fixture.set('roads'), z, x, 0, 100_000);
}

describe('growth', () => {
  it('growth is reported from an hour on, over restarts, and counts a week back', async () => {
    expect(await usageAt(BEGUN)).toMatchObject({ growthPerDay: null, fullInDays: null });
    await write(5, 10);
    expect((await usageAt(BEGUN + HOUR - 1)).growthPerDay).toBeNull();

    const second = await usageAt(BEGUN + 2 * DAY);
    expect(second.bytes).toBe(1_000_000);
    expect(second.growthPerDay).toBe(Math.round(second.bytes / 2));

    await write(6, 10);
    const eighth = await usageAt(BEGUN + 8 * DAY);
    expect(eighth.growthPerDay).toBe(Math.round((eighth.bytes - second.bytes) / 6));
  });

  it('growth is negative when tiles go, and then nothing runs full', async () => {
    await write(5, 10);
    const { bytes } = await usageAt(BEGUN);
    await fixture.store.drop('roads', null);
    expect(await usageAt(BEGUN + DAY)).toMatchObject({ growthPerDay: -bytes, fullInDays: null });
  });
});
