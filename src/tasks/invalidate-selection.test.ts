import { afterEach, describe, expect, it } from 'vitest';
import { tile } from '../../test/contracts/tile-store-tools.ts';
import {
  author,
  openTaskFixture,
  type TaskFixture,
  type TaskFixtureOptions,
} from '../../test/fixtures/task-fixture.ts';
import { rankOfRequests } from '../domain/page-rank.ts';
import { PAGE_SIZE, pageOf } from '../domain/tile-key.ts';
import { blockAt } from '../domain/tile-rect.ts';

let fixture: TaskFixture;
afterEach(() => fixture.close());

async function openSeeded({
  zoomStop = 3,
  ...options
}: TaskFixtureOptions & { readonly zoomStop?: number } = {}): Promise<TaskFixture> {
  fixture = await openTaskFixture({ layer: { metatile: { columns: 1, rows: 1 } }, ...options });
  const seeded = await fixture.service.create({ layer: 'roads', zoomStart: 0, zoomStop }, author('tester'));
  await fixture.ended(seeded.id);
  return fixture;
}

/** Clients have requested tiles of a page so often. */
async function request({ store, tiles, clock }: TaskFixture['harness'], page: string, hits: number) {
  const [z = 0, pageX = 0, pageY = 0] = page.split('/').map(Number);
  const at = clock.now();
  const used = { pageX, pageY, hits, usedAt: at, rank: rankOfRequests(hits, at) };
  await store.edit(tiles.set, z, blockAt(pageX, pageY, PAGE_SIZE), { type: 'use', pages: [used] });
}

const outcome = async (z: number, x: number, y: number) => (await fixture.harness.read(z, x, y)).outcome;

describe('telling that the map has changed', () => {
  it('an invalidation leaves tiles in place and has each renewed at its next request', async () => {
    const { harness, selections } = await openSeeded();
    expect(await outcome(3, 0, 0)).toBe('HIT');
    const { extent } = harness.tiles.subset.gridSet;
    const middle = (extent.minX + extent.maxX) / 2;
    const west = { ...extent, maxX: middle };
    const { marked, tasks } = await selections.invalidate(
      'roads',
      { gridSets: ['small-tiles'], bounds: west },
      null,
    );
    expect(tasks).toEqual([]);
    expect(marked).toMatchObject([{ tiles: 1 + 2 + 8 + 32 }]);
    harness.source.version = 2;
    const west3 = await harness.read(3, 0, 0);
    expect(west3.outcome).toBe('MISS');
    expect(await harness.shows(west3.bytes, { z: 3, x: 0, y: 0 }, 2)).toBe(true);
    expect(await outcome(3, 0, 0)).toBe('HIT');
    expect(await outcome(3, 7, 0)).toBe('HIT');
  });

  it('an invalidation serves the old tile while the source is down', async () => {
    const { harness, selections } = await openSeeded({ zoomStop: 2 });
    await selections.invalidate('roads', {}, null);
    harness.source.answer = () => Promise.reject(new Error('down'));
    expect(await outcome(2, 1, 1)).toBe('STALE');
  });

  it('an invalidation keeps tiles that were fetched before it from being stored', async () => {
    const { harness, selections } = await openSeeded({ zoomStop: 0 });
    const generation = await harness.store.marks('roads');
    await selections.invalidate('roads', {}, null);
    const late = harness.store.put(harness.tiles.set, 3, [tile(1, 1, 'late')], generation);
    await expect(late).rejects.toMatchObject({ code: 'generation-stale' });
    expect(await harness.store.get(harness.tiles.set, { z: 3, x: 1, y: 1 })).toBeNull();
  });

  it('an invalidation changes nothing when there is no room for every task that is to renew it', async () => {
    const { harness, selections, service } = await openSeeded({
      tasks: { maxUnfinished: 2 },
    });
    await request(harness, '3/0/0', 9);
    const waiting = await service.create({ layer: 'roads', zoomStart: 0, zoomStop: 0 }, author('tester'));
    await service.pause(waiting.id);
    expect(await outcome(3, 0, 0)).toBe('HIT');
    const generation = await harness.store.marks('roads');
    const renewal = selections.invalidate('roads', {}, author('tester'));
    await expect(renewal).rejects.toMatchObject({ code: 'too-many-tasks' });
    expect(await outcome(3, 0, 0)).toBe('HIT');
    expect(await harness.store.marks('roads')).toBe(generation);
    expect(await service.list({ states: ['pending', 'running'], limit: 10 })).toEqual([]);
  });

  it('an invalidation renews existing tiles in the background, and nothing else', async () => {
    const { harness, selections, service } = await openSeeded();
    await harness.store.edit(
      harness.tiles.set,
      3,
      { minX: 0, minY: 0, maxX: 3, maxY: 7 },
      { type: 'remove' },
    );
    harness.source.version = 2;
    const before = harness.source.requests.length;
    const { tasks } = await selections.invalidate('roads', { zoomStart: 3 }, author('tester'));
    expect(tasks).toHaveLength(1);
    const done = await fixture.ended(tasks[0]?.id ?? 0);
    expect(done).toMatchObject({ state: 'done', tilesTotal: 64n, tilesProcessed: 64n });
    expect(done.counters.made).toBe(32);
    expect(harness.source.requests.length - before).toBe(32);
    const renewed = await harness.read(3, 7, 7);
    expect(renewed.outcome).toBe('HIT');
    expect(await harness.shows(renewed.bytes, { z: 3, x: 7, y: 7 }, 2)).toBe(true);
    expect((await service.get(done.id))?.createdBy).toBe('tester');
  });

  it.each([{ side: 4 }, { side: 3 }, { side: 20 }])(
    'an invalidation renews the pages that are used most first, and each tile once, by metatiles of $side',
    async ({ side }) => {
      const uses = new Map([
        ['5/1/1', 90],
        ['4/0/0', 70],
        ['5/0/1', 50],
      ]);
      const { harness, selections } = await openSeeded({
        layer: { metatile: { columns: side, rows: side } },
        zoomStop: 5,
      });
      for (const [page, hits] of uses) await request(harness, page, hits);
      const before = harness.source.requests.length;
      const { tasks } = await selections.invalidate('roads', {}, author('tester'));
      const done = await Promise.all(tasks.map(({ id }) => fixture.ended(id)));
      expect(done.map(({ state }) => state)).toEqual(['done', 'done']);
      expect(done[0]?.request.priority).toBeGreaterThan(done[1]?.request.priority ?? 0);
      expect(done[1]).toMatchObject({ tilesTotal: 1365n, tilesProcessed: 1365n });
      expect((done[1]?.counters.made ?? 0) + (done[1]?.counters.present ?? 0)).toBe(1365);
      const asked = harness.source.requests.slice(before).map(({ metatile }) => metatile);
      const metatiles = asked.map(({ z, column, row }) => `${z}/${column}/${row}`);
      expect(metatiles).toEqual([...new Set(metatiles)]);
      const pages = asked.map(({ z, rect }) => `${z}/${pageOf(rect.minX)}/${pageOf(rect.minY)}`);
      expect(pages[0]).toBe('5/1/1');
      if (side === 4) expect([...new Set(pages)].filter((page) => uses.has(page))).toEqual([...uses.keys()]);
    },
  );

  it('an invalidation of one place again and again does not keep a seed of others from ending', async () => {
    const { harness, selections, service } = await openSeeded({ zoomStop: 0 });
    const { extent } = harness.tiles.subset.gridSet;
    const span = (extent.maxX - extent.minX) / 16;
    const corner = { ...extent, maxX: extent.minX + span / 2, minY: extent.maxY - span / 2 };
    const selection = { gridSets: ['small-tiles'], bounds: corner };
    const before = harness.source.requests.length;
    harness.source.answer = async (request) => {
      await selections.invalidate('roads', selection, null);
      return harness.source.draw(request);
    };
    const bounds = [0, extent.minY, extent.maxX, 0];
    const draft = { layer: 'roads', zoomStart: 4, zoomStop: 4, coords: bounds };
    const done = await fixture.ended((await service.create(draft, author('tester'))).id);
    expect(done).toMatchObject({ state: 'done', counters: { made: 64 } });
    expect(harness.source.requests.length - before).toBe(64);
  });

  it('a dry run of an invalidation counts without changing anything', async () => {
    const { selections } = await openSeeded({ zoomStop: 2 });
    expect(await selections.count('roads', { zoomStart: 2, zoomStop: 2 })).toMatchObject([{ tiles: 16 }]);
    expect(await outcome(2, 0, 0)).toBe('HIT');
  });

  it('an invalidation of an unknown layer is refused', async () => {
    const { selections } = await openSeeded({ zoomStop: 0 });
    await expect(selections.invalidate('rivers', {}, null)).rejects.toMatchObject({
      code: 'layer-unknown',
    });
  });
});
