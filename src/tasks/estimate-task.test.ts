import { afterEach, describe, expect, it } from 'vitest';
import { author, openTaskFixture, type TaskFixture } from '../../test/fixtures/task-fixture.ts';

let fixture: TaskFixture | null = null;

afterEach(async () => {
  await fixture?.close();
  fixture = null;
});

async function open(): Promise<TaskFixture> {
  fixture = await openTaskFixture();
  return fixture;
}

describe('an estimate', () => {
  it('the task service estimates tiles, metatiles, bytes and time from past figures', async () => {
    const { service, ended } = await open();
    const draft = { layer: 'roads', zoomStop: 3 };
    expect(await service.estimate(draft)).toEqual({
      tiles: 85n,
      cachedTiles: 0n,
      cachedBytes: 0n,
      staleTiles: 0n,
      metatiles: 7n,
      upstreamRequests: 7n,
      bytes: null,
      addedBytes: null,
      zooms: [
        [0, 1n, 1n],
        [1, 4n, 1n],
        [2, 16n, 1n],
        [3, 64n, 4n],
      ].map(([z, tiles, metatiles]) => ({
        ...{ z, tiles, metatiles },
        ...{ cachedTiles: 0n, cachedBytes: 0n, staleTiles: 0n },
      })),
      seconds: null,
      disk: null,
      coveredUse: null,
    });
    await ended((await service.create(draft, author('me'))).id);
    const known = await service.estimate({ layer: 'roads', zoomStop: 9 });
    expect(known.bytes).toBeGreaterThan(0n);
    expect(known.cachedTiles).toBe(85n);
    expect(known.seconds).toBeGreaterThan(0);
    expect(known.zooms.map(({ cachedTiles }) => cachedTiles).slice(0, 5)).toEqual([1n, 4n, 16n, 64n, 0n]);
    expect(known.addedBytes?.least).toBeGreaterThan(0n);
    expect(await service.list({ limit: 10 })).toHaveLength(1);
  });

  it('an estimate counts invalidated tiles as work of a seed', async () => {
    const { service, harness, ended } = await open();
    const draft = { layer: 'roads', zoomStop: 3 };
    await ended((await service.create(draft, author('me'))).id);
    const { set } = harness.tiles;
    const quarter = { minX: 0, minY: 0, maxX: 3, maxY: 3 };
    await harness.store.edit(set, 3, quarter, { type: 'outdate', at: harness.clock.now() });
    const estimate = await service.estimate(draft);
    expect(estimate).toMatchObject({ tiles: 85n, cachedTiles: 85n, staleTiles: 16n });
    expect(estimate.zooms.map(({ staleTiles }) => staleTiles)).toEqual([0n, 0n, 0n, 16n]);
    expect(estimate.addedBytes).toEqual({ least: 0n, most: 0n });
    const again = await ended((await service.create(draft, author('me'))).id);
    expect(again.counters.made).toBe(16);
  });

  it('an estimate for several combinations counts the tiles of all of them that are cached', async () => {
    const { service, ended } = await open();
    const draft = { layer: 'roads', zoomStop: 2 };
    await ended((await service.create(draft, author('me'))).id);
    const estimate = await service.estimate(draft, 500);
    expect(estimate).toMatchObject({ tiles: 500n * 21n, cachedTiles: 21n, metatiles: 500n * 3n });
  });

  it('a truncate is estimated by the tiles that are cached, not by those of the grid', async () => {
    const { service, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 3 }, author('me'))).id);
    const all = await service.estimate({ layer: 'roads', type: 'truncate' });
    expect(all).toMatchObject({ tiles: 85n, cachedTiles: 85n, metatiles: 0n, upstreamRequests: 0n });
    expect(all.cachedBytes).toBeGreaterThan(0n);
    const part = { layer: 'roads', type: 'truncate', zoomStart: 1, coords: [-20037508, 0, -1, 20037508] };
    expect(await service.estimate(part)).toMatchObject({ cachedTiles: 1n + 4n + 16n });
    expect(await service.estimate({ ...part, zoomStart: 4 })).toMatchObject({ tiles: 0n, cachedBytes: 0n });
  });
});
