import { describe, expect, it } from 'vitest';
import { shareTaskServer, type TileAt, tilesOf } from './task-server.ts';

const HALF_WORLD = 20037508.34;
const shared = shareTaskServer({ expectedLog: /upstream|source|map server/ });
const isNorthWest = ({ z, x, y }: TileAt) => x < 2 ** (z - 1) && y < 2 ** (z - 1);

describe('truncating', () => {
  it('a truncate task removes the tiles of a range and leaves the others', async () => {
    const { wms, server } = shared;
    await server.over(await server.start({ zoomStop: 4, threadCount: 4 }));
    const inRange = [...tilesOf(2, 4)].filter(isNorthWest);
    // In memory by now: the server must not answer from there either.
    await server.expectTiles(inRange, { cache: 'HIT' });
    const coords = { double: [-HALF_WORLD, 0, 0, HALF_WORLD].map(String) };
    const request = { type: 'truncate', zoomStart: 2, zoomStop: 4, bounds: { coords }, threadCount: 8 };
    const task = await server.over(await server.start(request));
    expect(task).toMatchObject({ state: 'done', type: 'truncate', tilesTotal: 84, tilesProcessed: 84 });
    expect(task.counters).toMatchObject({ removed: 84, made: 0, failed: 0, upstreamRequests: 0 });

    const asked = wms.requests.length;
    const outside = [...tilesOf(0, 4)].filter((tile) => tile.z < 2 || !isNorthWest(tile));
    expect(outside).toHaveLength(257);
    await server.expectTiles(
      outside.filter((_, at) => at % 3 === 0),
      { cache: 'HIT' },
    );
    expect(wms.requests.length).toBe(asked);
    // One tile of each metatile: it brings its neighbours back.
    const oneOfEach = inRange.filter(({ x, y }) => x % 4 === 0 && y % 4 === 0);
    expect(await server.expectTiles(oneOfEach, { cache: 'MISS' })).toBe(6);
    expect(wms.requests.length).toBe(asked + 6);
  });
});

describe('reseeding', () => {
  it('a reseed replaces tiles, and no client gets an older one when it is done', async () => {
    const { wms, server } = shared;
    await server.over(await server.start({ zoomStop: 3, threadCount: 4 }));
    // Twice, so that they are in memory.
    for (const _ of [1, 2]) await server.expectTiles(tilesOf(0, 3), { cache: 'HIT', version: 1 });
    wms.version = 2;
    const task = await server.over(await server.start({ type: 'reseed', zoomStop: 3, threadCount: 4 }));
    expect(task).toMatchObject({ state: 'done', tilesTotal: 85, tilesProcessed: 85 });
    expect(task.counters).toMatchObject({ made: 85, present: 0 });
    await server.expectTiles(tilesOf(0, 3), { cache: 'HIT', version: 2 });
  });
});

describe('an upstream that fails in places', () => {
  it('tiles for which the upstream fails are reported, counted, and can be retried alone', async () => {
    const { wms, server } = shared;
    const isBroken = (z: number, minX: number) => z === 4 && minX < 0;
    const attempts = { broken: 0 };
    wms.answer = ({ place }) => {
      const z = Math.round(
        Math.log2(156543.03390625 / ((place.bounds.maxX - place.bounds.minX) / place.width)),
      );
      if (!isBroken(z, place.bounds.minX)) return 'good';
      attempts.broken++;
      return 'xml';
    };
    const request = {
      zoomStop: 4,
      threadCount: 4,
      tileFailureRetryCount: 2,
      tileFailureRetryWaitTime: 50,
    };
    const task = await server.over(await server.start(request));
    // 16 × 16 tiles in 4 × 4 metatiles, of which the western half fails three times each.
    expect(task).toMatchObject({ state: 'aborted', tilesTotal: 341, tilesProcessed: 341 });
    expect(task.counters).toMatchObject({ made: 213, failed: 128 });
    expect(task.counters.upstreamRequests).toBe(wms.requests.length);
    expect(task.reason).toContain('128 of 341 tiles failed');
    expect(attempts.broken).toBe(24);
    expect(task.errors.length).toBeGreaterThan(0);
    expect(task.errors.every(({ z }) => z === 4)).toBe(true);
    // The map server's own message, for callers with access to tasks.
    expect(JSON.stringify(task.errors)).toContain('Could not open table secret_roads');

    wms.answer = 'good';
    const retried = await server.request('POST', `/api/v1/tasks/${task.id}/retry`);
    expect(retried.status).toBe(201);
    const again = await server.over(((await retried.json()) as { id: number }).id);
    expect(again).toMatchObject({ state: 'done', reason: null, tilesTotal: 128, tilesProcessed: 128 });
    await server.expectTiles(
      [...tilesOf(0, 4)].filter((_, at) => at % 4 === 0),
      { cache: 'HIT' },
    );
  });

  it('a task whose upstream always fails is aborted with the reason', async () => {
    const { wms, server } = shared;
    wms.answer = 'xml';
    const id = await server.start({ tileFailureRetryCount: 0, totalFailuresBeforeAborting: 5 });
    const task = await server.over(id);
    expect(task.state).toBe('aborted');
    expect(task.reason).toContain('as many as totalFailuresBeforeAborting allows');
    expect(await server.list()).toEqual([]);
  });
});
