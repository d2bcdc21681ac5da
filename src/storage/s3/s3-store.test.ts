import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { behavesAsTileStore } from '../../../test/contracts/tile-store.ts';
import { collect, NOTHING, sortedPages, tile } from '../../../test/contracts/tile-store-tools.ts';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { requireS3 } from '../../../test/fixtures/s3.ts';
import { openTestStores, type TestStores } from '../../../test/fixtures/s3-store.ts';
import { tileSetId } from '../../domain/tile-key.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import { copyTiles } from '../copy-tiles.ts';
import { createMemoryStore } from '../memory/memory-store.ts';
import type { TileStore } from '../tile-store.ts';
import { findUnlisted } from './find-unlisted.ts';
import { rebuildIndex } from './rebuild-index.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const block = (x0: number, y0: number, text: string, createdAt = 1) =>
  Array.from({ length: 16 }, (_, at) =>
    tile(x0 + (at % 4), y0 + Math.floor(at / 4), `${text} ${at}`, createdAt),
  );
const asked = (store: TileStore, operation: string) =>
  store.requests?.().find((count) => count.operation === operation)?.requests ?? 0;

describe.runIf(requireS3('tiles in S3'))('an s3 store', () => {
  let stores: TestStores;
  beforeAll(async () => {
    stores = await openTestStores();
  });
  afterAll(() => stores.close());

  async function withStore(
    use: (store: TileStore, name: string) => Promise<void>,
    given: Parameters<TestStores['open']>[1] = {},
  ): Promise<void> {
    const name = `s${Math.random().toString(36).slice(2)}`;
    const store = await stores.open(name, given);
    try {
      await use(store, name);
    } finally {
      await store.close();
    }
  }

  behavesAsTileStore({ open: () => stores.open(), modelRuns: 30 });

  it('writes a metatile with one request and reads it with one, which brings the tiles beside it', () =>
    withStore(async (store) => {
      await store.putMany(set, 9, block(4, 8, 'map'), 0);
      expect(asked(store, 'put')).toBe(1);
      const beside: string[] = [];
      const found = await store.get(set, { z: 9, x: 5, y: 9 }, ({ x, y }, { bytes }) =>
        beside.push(`${x},${y} ${bytes.toString()}`),
      );
      expect(found?.bytes.toString()).toBe('map 5');
      expect(asked(store, 'get')).toBe(1);
      expect(beside).toHaveLength(15);
      expect(beside).toContain('7,11 map 15');
    }));

  it('asks once for a pack that many want at the same time', () =>
    withStore(async (store) => {
      await store.putMany(set, 9, block(0, 0, 'map'), 0);
      const places = block(0, 0, '').map(({ x, y }) => ({ z: 9, x, y }));
      await Promise.all(places.map((place) => store.get(set, place)));
      expect(asked(store, 'get')).toBeLessThan(16);
      expect(asked(store, 'head-bucket') + asked(store, 'list')).toBe(1);
    }));

  it('keeps single tiles in packs of one where its tiles are made one by one', () =>
    withStore(
      async (store) => {
        await store.putMany(set, 9, [tile(4, 4, 'a'), tile(5, 4, 'b')], 0);
        expect(asked(store, 'put')).toBe(2);
        expect((await store.get(set, { z: 9, x: 5, y: 4 }))?.bytes.toString()).toBe('b');
      },
      { shapeOf: () => ({ columns: 1, rows: 1 }) },
    ));

  it('shows every node at once what another has stored, replaced and truncated', () =>
    withStore(async (one, name) => {
      const other = await stores.open(name);
      const text = async () => (await other.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString() ?? null;
      await one.putMany(set, 9, block(0, 0, 'first', 1), 0);
      expect(await text()).toBe('first 5');
      await other.putMany(set, 9, block(0, 0, 'second', 2), 0);
      await one.raiseGeneration('roads');
      expect(await text()).toBe('second 5');
      await one.dropLayer('roads');
      expect(await text()).toBeNull();
      await expect(other.putMany(set, 9, block(0, 0, 'late', 3), 0)).rejects.toMatchObject({
        code: 'generation-stale',
      });
      await other.putMany(set, 9, block(0, 0, 'third', 4), 1);
      expect((await one.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString()).toBe('third 5');
      await other.close();
    }));

  it('stores nothing for a lease that is lost', () =>
    withStore(async (store) => {
      const { id } = await insertTask(stores);
      await stores.database.change
        .insertInto('task_leases')
        .values({
          task_id: id,
          piece: 0,
          token: 7,
          owner: 'a',
          threads: 1,
          beat: 0,
          done_steps: 0,
          crashes: 0,
        })
        .execute();
      await store.putMany(set, 9, block(0, 0, 'mine'), 0, 7);
      await stores.database.change.updateTable('task_leases').set({ token: 8 }).execute();
      const late = store.putMany(set, 9, block(0, 0, 'late', 5), 0, 7);
      await expect(late).rejects.toMatchObject({ code: 'lease-lost' });
      expect((await store.get(set, { z: 9, x: 0, y: 0 }))?.bytes.toString()).toBe('mine 0');
    }));

  it('tells what was replaced, removed and truncated, and not what is new', () =>
    withStore(async (store) => {
      const since = async (cursor: number | null) => (await store.news?.(cursor)) ?? { news: [], cursor: 0 };
      await store.putMany(set, 9, block(0, 0, 'map', 1), 0);
      const { cursor } = await since(null);
      await store.putMany(set, 9, block(32, 0, 'new', 1), 0);
      expect((await since(cursor)).news).toEqual([]);
      await store.putMany(set, 9, block(0, 0, 'again', 2), 0);
      const rect = { minX: 0, minY: 0, maxX: 15, maxY: 15 };
      expect((await since(cursor)).news).toEqual([{ kind: 'tiles', set, z: 9, rect }]);
      const place = { gridSet: set.gridSet, z: 9, rect };
      const second = (await since(cursor)).cursor;
      await store.raiseGeneration('roads', [place]);
      expect((await since(second)).news).toEqual([{ kind: 'place', layer: 'roads', place }]);
      await store.raiseGeneration('roads');
      expect((await since(second)).news).toEqual([{ kind: 'layer', layer: 'roads' }]);
      expect((await since(2 ** 50)).news).toEqual([{ kind: 'everything' }]);
    }));

  it('removes the objects of tiles that were replaced or dropped, a thousand with one request', () =>
    withStore(
      async (store) => {
        const tiles = Array.from({ length: 1100 }, (_, x) => tile(x, 0, 'a', 1));
        await store.putMany(set, 12, tiles, 0);
        await store.putMany(
          set,
          12,
          tiles.slice(0, 5).map((one) => ({ ...one, createdAt: 2 })),
          0,
        );
        expect(await store.sweeping()).toMatchObject({ files: 5 });
        await store.dropLayer('roads');
        await eventually(
          'all objects are gone',
          () => store.sweeping(),
          ({ files }) => files === 0,
        );
        expect(asked(store, 'delete')).toBe(3);
      },
      { shapeOf: () => ({ columns: 1, rows: 1 }) },
    ));

  it('makes a tile anew whose object is gone, and counts it no longer', () =>
    withStore(async (store, name) => {
      await store.putMany(set, 9, [tile(0, 0, 'lost')], 0);
      const bucket = await stores.bucket(name);
      const { objects } = await bucket.list((await stores.options(name)).prefix, null);
      await bucket.remove(objects.map(({ key }) => key));
      expect(await store.get(set, { z: 9, x: 0, y: 0 })).toBeNull();
      expect(await collect(store.pages(set))).toEqual([]);
      bucket.close();
    }));

  it('makes a tile anew whose bytes are damaged, and keeps those beside it', () =>
    withStore(async (store, name) => {
      await store.putMany(set, 9, [tile(0, 0, 'whole'), tile(1, 0, 'broken')], 0);
      const bucket = await stores.bucket(name);
      const [object] = (await bucket.list((await stores.options(name)).prefix, null)).objects;
      const bytes = await bucket.get(object?.key ?? '');
      bytes?.fill('x', bytes.length - 2);
      await bucket.put(object?.key ?? '', bytes ?? Buffer.alloc(0));
      expect(await store.get(set, { z: 9, x: 1, y: 0 })).toBeNull();
      expect((await store.get(set, { z: 9, x: 0, y: 0 }))?.bytes.toString()).toBe('whole');
      bucket.close();
    }));

  it('is listed again from its bucket when the database is lost, with the newest of each tile', () =>
    withStore(async (store, name) => {
      await store.putMany(set, 9, block(0, 0, 'old', 1), 0);
      await store.putMany(set, 9, block(2, 0, 'new', 2), 0);
      await store.putMany(
        { ...set, layer: 'rivers' },
        3,
        [{ ...tile(5, 6, 'r', 9), validator: '"v"', madeBy: 4 }],
        0,
      );
      const lost = await openTestStores();
      const rebuild = async (resume: boolean) =>
        rebuildIndex(await stores.options(name), {
          ...{ name, database: lost.database, clock: systemClock, random: systemRandom, log: silentLogger },
          ...{ resume, signal: new AbortController().signal, onProgress: () => {} },
        });
      expect(await rebuild(false)).toMatchObject({ packs: 4, leftOut: 0 });
      await expect(rebuild(false)).rejects.toMatchObject({ code: 'config-invalid' });
      await rebuild(true);
      const again = await lost.open(name, await stores.options(name));
      const text = async (x: number) => (await again.get(set, { z: 9, x, y: 0 }))?.bytes.toString();
      expect([await text(0), await text(2), await text(5)]).toEqual(['old 0', 'new 0', 'new 3']);
      expect(await again.get({ ...set, layer: 'rivers' }, { z: 3, x: 5, y: 6 })).toMatchObject({ madeBy: 4 });
      expect(sortedPages(await collect(again.pages(set)))).toEqual(
        sortedPages(await collect(store.pages(set))),
      );
      await again.dropLayer('rivers');
      await again.putMany({ ...set, layer: 'rivers' }, 3, [tile(5, 6, 'again', 10)], 0);
      await again.close();
      await lost.close();
    }));

  it('is filled from bundles and emptied into them by copying', () =>
    withStore(async (store) => {
      const memory = createMemoryStore({ type: 'memory' });
      await memory.putMany(set, 9, [...block(0, 0, 'a', 5), ...block(14, 14, 'b', 6)], 0);
      const order = { layer: null, signal: new AbortController().signal, onProgress: () => {} };
      expect(await copyTiles({ ...order, from: memory, to: store })).toMatchObject({ tiles: 32, present: 0 });
      expect(await copyTiles({ ...order, from: memory, to: store })).toMatchObject({
        tiles: 32,
        present: 32,
      });
      const back = createMemoryStore({ type: 'memory' });
      await copyTiles({ ...order, from: store, to: back });
      expect((await back.get(set, { z: 9, x: 17, y: 17 }))?.bytes.toString()).toBe('b 15');
      expect(sortedPages(await collect(back.pages(set)))).toEqual(
        sortedPages(await collect(memory.pages(set))),
      );
    }));

  it('answers copies of its disk tier only while the index names the same object', () =>
    withStore(async (store, name) => {
      const copies = createMemoryStore({ type: 'memory' });
      let alone = false;
      let away = false;
      const outage = { isAway: () => false, mayShow: async () => alone };
      const database = { ...stores.database };
      Object.defineProperty(database, 'query', {
        get: () => {
          if (away) throw new Error('away');
          return stores.database.query;
        },
      });
      const near = await stores.open(name, {
        database,
        copies,
        cache: { size: '1 MiB' },
        outage,
      });
      const text = async () => (await near.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString() ?? null;
      const cursor = (await near.news?.(null))?.cursor ?? 0;
      await store.putMany(set, 9, block(0, 0, 'first', 1), 0);
      expect(await text()).toBe('first 5');
      await eventually('the pack is copied', () => copies.get(set, { z: 9, x: 2, y: 2 }));
      expect(await text()).toBe('first 5');
      expect(asked(near, 'get')).toBe(1);
      away = true;
      await expect(text()).rejects.toMatchObject({ code: 'store-failed' });
      alone = true;
      expect(await text()).toBe('first 5');
      away = false;
      await store.putMany(set, 9, block(0, 0, 'second', 2), 0);
      expect(await text()).toBe('second 5');
      await store.raiseGeneration('roads');
      await store.dropLayer('roads');
      expect(await text()).toBeNull();
      await near.news?.(cursor);
      away = true;
      await expect(text()).rejects.toMatchObject({ code: 'store-failed' });
      await near.close();
    }));

  it('finds objects that a crash has left without a row, but not those that may still be written', () =>
    withStore(async (store, name) => {
      await store.putMany(set, 9, block(0, 0, 'map'), 0);
      const bucket = await stores.bucket(name);
      const { prefix } = await stores.options(name);
      const [listed] = (await bucket.list(prefix, null)).objects;
      const left = `${listed?.key.slice(0, -12)}0123456789ab`;
      const foreign = [`${prefix}notes.txt`, `${listed?.key.replace(/\/\d+\/9\//, '/99999/9/')}`];
      for (const key of [left, ...foreign]) await bucket.put(key, Buffer.from('x'));
      const { objects } = await bucket.list(prefix, null);
      expect(objects).toHaveLength(4);
      expect(await findUnlisted(stores.database, name, prefix, objects, Date.now())).toEqual([]);
      const later = Date.now() + 2 * 3_600_000;
      expect(await findUnlisted(stores.database, name, prefix, objects, later)).toEqual([left]);
      bucket.close();
    }));

  it('counts a block tile by tile, and mends statistics that are wrong', () =>
    withStore(async (store) => {
      await store.putMany(set, 9, [...block(120, 120, 'map'), ...block(4, 4, 'more')], 0);
      const ids = (await collect((await store.blocks(null)).blocks)).map(({ id }) => id);
      const drifts = () => Promise.all(ids.map((id) => store.recount?.(id)));
      const right = sortedPages(await collect(store.pages(set)));
      expect(await drifts()).toEqual(ids.map(() => NOTHING));
      const mine = stores.database.query
        .selectFrom('tile_sets')
        .select('id')
        .where('identity', '=', tileSetId(set));
      await stores.database.change
        .updateTable('pack_pages')
        .set({ tiles: 1, bytes: 1 })
        .where('tile_set', 'in', mine)
        .where('x', '=', 0)
        .execute();
      expect(sortedPages(await collect(store.pages(set)))).not.toEqual(right);
      expect((await drifts()).reduce((sum, drift) => sum + (drift?.tiles ?? 0), 0)).toBe(15);
      expect(sortedPages(await collect(store.pages(set)))).toEqual(right);
    }));

  it('says at the start that its bucket is missing, or that its database cannot hold the index', async () => {
    const missing = stores.open('missing', { bucket: 'no-such-bucket' });
    await expect(missing).rejects.toMatchObject({
      code: 'config-invalid',
      message: 'The bucket no-such-bucket of a tile store does not exist; create it, or name another one.',
    });
    const database = { ...stores.database, dialect: 'sqlite' as const };
    await expect(stores.open('tiles', { database })).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('set database to a postgres:// URL'),
    });
  });
});

async function insertTask({ database }: TestStores): Promise<{ readonly id: number }> {
  const counts = {
    thread_count: 1,
    weight: 1,
    express: 0,
    fair_time: 0,
    piece_count: 1,
    next_piece: 1,
    failures: 0,
  };
  const tiles = { tiles_total: 1, tiles_processed: 0, made: 0, present: 0, removed: 0, blank: 0, failed: 0 };
  const texts = {
    state: 'running',
    layer: 'roads',
    type: 'seed',
    request: '{}',
    plan: '{}',
    error_samples: '[]',
  };
  const row = {
    event_id: 1,
    ...counts,
    ...tiles,
    ...texts,
    bytes: 0,
    upstream_requests: 0,
    created_by: 'a',
    created_at: 1,
  };
  return database.change.insertInto('tasks').values(row).returning('id').executeTakeFirstOrThrow();
}
