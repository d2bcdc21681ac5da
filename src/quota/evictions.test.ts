import { afterEach, beforeEach, expect, it } from 'vitest';
import { openQuotaFixture, type QuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { loadEvictions } from './evictions.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 5, 1, 12);
const ONE = { pages: 1, tiles: 10, bytes: 1000 };
const TWO = { pages: 2, tiles: 20, bytes: 2000 };
const THREE = { pages: 3, tiles: 30, bytes: 3000 };

let fixture: QuotaFixture;
beforeEach(async () => {
  fixture = await openQuotaFixture();
});
afterEach(() => fixture.close());

it('evictions are kept over a restart by layer and hour', async () => {
  const evictions = await loadEvictions(fixture.database);
  await evictions.add(new Map([['roads', ONE]]), NOON + 60_000);
  await evictions.add(
    new Map([
      ['roads', ONE],
      ['rivers', ONE],
    ]),
    NOON + HOUR - 1,
  );
  await evictions.add(new Map([['roads', TWO]]), NOON + HOUR);

  for (const known of [evictions, await loadEvictions(fixture.database)]) {
    expect(known.total).toEqual({ pages: 5, tiles: 50, bytes: 5000 });
    expect(Object.fromEntries(known.byLayer)).toEqual({
      roads: { pages: 4, tiles: 40, bytes: 4000 },
      rivers: ONE,
    });
    expect(await known.hoursSince(NOON + 1)).toEqual(
      expect.arrayContaining([
        { layer: 'roads', at: NOON, ...TWO },
        { layer: 'rivers', at: NOON, ...ONE },
        { layer: 'roads', at: NOON + HOUR, ...TWO },
      ]),
    );
    expect(await known.hoursSince(NOON + HOUR)).toHaveLength(1);
    expect(await known.between(NOON, NOON + HOUR - 1)).toEqual(THREE);
    const slices = (await known.slicesSince(NOON + 65_000)).map(({ at, tiles }) => [at, tiles]);
    expect(slices).toEqual([
      [NOON + HOUR - 5000, 20],
      [NOON + HOUR, 20],
    ]);
  }
});

it('evictions are kept by hour for a month, and before that as a sum', async () => {
  const evictions = await loadEvictions(fixture.database);
  for (const day of [0, 1, 40]) await evictions.add(new Map([['roads', ONE]]), NOON + day * DAY);
  expect(await evictions.hoursSince(0)).toEqual([{ layer: 'roads', at: NOON + 40 * DAY, ...ONE }]);
  const later = await loadEvictions(fixture.database);
  expect(later.total).toEqual(THREE);
  expect(later.byLayer.get('roads')).toEqual(THREE);
  const rows = await fixture.database.query.selectFrom('evictions').selectAll().execute();
  expect(rows).toHaveLength(4);
});
