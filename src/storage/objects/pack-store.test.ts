import { sql } from 'kysely';
import { expect, it, onTestFinished, vi } from 'vitest';
import { collect, raise, tile, tilesIn } from '../../../test/contracts/tile-store-tools.ts';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { openDatabaseProxy, openFaultProxy } from '../../../test/fixtures/network.ts';
import {
  describeOnObjectStore,
  describeOnObjectStores,
  metatile,
  packsIn,
  requestsOf,
  type TestStores,
} from '../../../test/fixtures/pack-stores.ts';
import type { Statements } from '../../db/database.ts';
import { openDatabase } from '../../db/open-database.ts';
import type { TilewardenError } from '../../domain/errors.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { PackIndex } from '../index/postgres/pack-index.ts';
import { countStored, pagesIn, presentTiles } from '../read-tiles.ts';
import { createMemoryStore } from '../segments/memory-store.ts';
import { TILES_IN_A_TURN } from './pack-store.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

describeOnObjectStore('a store of packs', (_, stores) => {
  it('a metatile is stored and replaced with one statement, and with two after another process', async () => {
    let statements = 0;
    const counting = (queries: Statements) =>
      new Proxy(queries, {
        get(target, name) {
          if (name === 'getExecutor') statements++;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    const { query, change } = stores().database;
    const database = { ...stores().database, query: counting(query), change: counting(change) };
    await stores().using(
      async (store, name) => {
        await store.put(set, 9, metatile(0, 0, 'first'), 0);
        statements = 0;
        await store.put(set, 9, metatile(4, 0, 'new'), 0);
        expect(statements).toBe(1);
        await store.put(set, 9, metatile(4, 0, 'again', 2), 0);
        expect(statements).toBe(2);
        const other = await stores().open(name);
        await other.put(set, 9, metatile(0, 4, 'other'), 0);
        await other.close();
        await store.put(set, 9, metatile(4, 4, 'last'), 0);
        expect(statements).toBe(4);
        expect(await countStored(store, set, 9, { minX: 0, minY: 0, maxX: 7, maxY: 7 })).toMatchObject({
          tiles: 64,
        });
      },
      { database, sweeps: () => false },
    );
  });

  it('a pack that many readers want at the same time is requested once', () =>
    stores().using(async (store) => {
      await store.put(set, 9, metatile(0, 0, 'map'), 0);
      const places = metatile(0, 0, '').map(({ x, y }) => ({ z: 9, x, y }));
      const lists = () => requestsOf(store, 'head-bucket') + requestsOf(store, 'list');
      const before = lists();
      await Promise.all(places.map((place) => store.get(set, place)));
      expect(requestsOf(store, 'get')).toBeLessThan(16);
      expect(lists()).toBe(before);
    }));

  it('tiles that are stored together are one object for each pack of 8 × 8', () =>
    stores().using(async (store) => {
      const puts = requestsOf(store, 'put');
      await store.put(set, 9, [tile(4, 4, 'a'), tile(5, 4, 'b')], 0);
      expect(requestsOf(store, 'put')).toBe(puts + 1);
      await store.put(set, 9, [tile(7, 4, 'c'), tile(8, 4, 'd')], 0);
      expect(requestsOf(store, 'put')).toBe(puts + 3);
      expect((await store.get(set, { z: 9, x: 8, y: 4 }))?.bytes.toString()).toBe('d');
    }));

  it('a worker whose lease is lost stores nothing', () =>
    stores().using(async (store) => {
      const { id } = await insertTask(stores());
      await stores()
        .database.change.insertInto('task_leases')
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
      await store.put(set, 9, metatile(0, 0, 'mine'), 0, 7);
      await stores().database.change.updateTable('task_leases').set({ token: 8 }).execute();
      const late = store.put(set, 9, metatile(0, 0, 'late', 5), 0, 7);
      await expect(late).rejects.toMatchObject({ code: 'lease-lost' });
      expect((await store.get(set, { z: 9, x: 0, y: 0 }))?.bytes.toString()).toBe('mine 0');
    }));

  it('the changes of a store list replaced, removed and truncated tiles, and no new ones', () =>
    stores().using(async (store) => {
      const since = async (cursor: string | null) =>
        (await store.changesSince?.(cursor)) ?? { changes: [], cursor: '' };
      await store.put(set, 9, metatile(0, 0, 'map', 1), 0);
      const { cursor } = await since(null);
      await store.put(set, 9, metatile(32, 0, 'new', 1), 0);
      expect((await since(cursor)).changes).toEqual([]);
      await store.put(set, 9, metatile(0, 0, 'again', 2), 0);
      const rect = { minX: 0, minY: 0, maxX: 15, maxY: 15 };
      expect((await since(cursor)).changes).toEqual([{ kind: 'tiles', set, z: 9, rect }]);
      const place = { gridSet: set.gridSet, z: 9, rect };
      const second = (await since(cursor)).cursor;
      await raise(store, 'roads', [place]);
      expect((await since(second)).changes).toContainEqual({ kind: 'place', layer: 'roads', place });
      await raise(store, 'roads');
      expect((await since(second)).changes).toContainEqual({ kind: 'layer', layer: 'roads' });
      expect((await since(`${2 ** 50}:${2 ** 50}:`)).changes).toEqual([{ kind: 'everything' }]);
    }));

  it('changes are reported once, also while a transaction is open elsewhere', () =>
    stores().using(async (store) => {
      await store.put(set, 9, metatile(0, 0, 'map', 1), 0);
      await stores().database.transaction(null, async (query) => {
        // A number of its own, which is the oldest that is open until the end.
        await sql`select pg_current_xact_id()`.execute(query);
        const before = await store.changesSince?.(null);
        await store.put(set, 9, metatile(0, 0, 'again', 2), 0);
        await raise(store, 'roads');
        const first = await store.changesSince?.(before?.cursor ?? null);
        expect(first?.changes).toHaveLength(2);
        expect((await store.changesSince?.(first?.cursor ?? null))?.changes).toEqual([]);
      });
    }));

  it('a store gives up no tile in a foreign bucket, and only a few a minute in its own', () =>
    stores().using(async (store, name) => {
      for (let x = 0; x < 10; x++) await store.put(set, 9, [tile(4 * x, 0, 'a')], 0);
      const bucket = await stores().bucket(name);
      const prefix = stores().prefix(name);
      const sentinel = await bucket.get(`${prefix}tilewarden-store.json`);
      await bucket.remove([
        ...(await packsIn(bucket, stores().prefix(name))),
        `${prefix}tilewarden-store.json`,
      ]);
      const read = (x: number) => store.get(set, { z: 9, x: 4 * x, y: 0 });
      await expect(read(0)).rejects.toThrow('is not the one whose objects the database lists');
      await bucket.put(`${prefix}tilewarden-store.json`, sentinel ?? Buffer.alloc(0));
      for (let x = 0; x < 5; x++) expect(await read(x)).toBeNull();
      await expect(read(5)).rejects.toThrow('lacks many of the tiles');
      expect(await collect(tilesIn(store, set, 9))).toHaveLength(5);
      bucket.close();
    }));

  it("the object of a write is kept when the database's answer to it was lost", async () => {
    let losing = false;
    const change = {
      getExecutor: () => {
        const executor = stores().database.change.getExecutor();
        return losing ? losingResponses(executor) : executor;
      },
    } as Statements;
    const database = { ...stores().database, change };
    await stores().using(
      async (store, name) => {
        await store.put(set, 9, [tile(9, 9, 'before')], 0);
        losing = true;
        await expect(store.put(set, 9, [tile(1, 1, 'stored')], 0)).rejects.toMatchObject({
          code: 'store-failed',
        });
        losing = false;
        expect(await presentTiles(store, set, 9, { minX: 0, minY: 0, maxX: 3, maxY: 3 }, 0)).toHaveLength(1);
        expect((await store.usage()).sweeping).toMatchObject({ files: 0 });
        expect((await store.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString()).toBe('stored');
        const bucket = await stores().bucket(name);
        expect(await packsIn(bucket, stores().prefix(name))).toHaveLength(2);
        bucket.close();
      },
      { database },
    );
  });

  it('a large area is changed in slices of some hundred tiles, and all of it', () =>
    stores().using(async (store) => {
      const area = { minX: 0, minY: 0, maxX: 31, maxY: 31 };
      const tiles = Array.from({ length: 1024 }, (_, at) => tile(at % 32, Math.floor(at / 32), 'a'));
      await store.put(set, 9, tiles, 0);
      const changes = vi.spyOn(PackIndex.prototype, 'change');
      onTestFinished(() => changes.mockRestore());
      expect(await store.edit(set, 9, area, { type: 'outdate', at: 5 })).toMatchObject({ tiles: 1024 });
      expect(await store.edit(set, 9, area, { type: 'remove' })).toEqual({ tiles: 1024, bytes: 1024 });
      const sizes = changes.mock.calls.map(([{ packs }]) => packs.length * 64);
      expect(sizes).toHaveLength(4);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(TILES_IN_A_TURN);
      expect(await presentTiles(store, set, 9, area, 0)).toEqual([]);
    }));

  it('a tile with damaged bytes is absent, and those beside it are kept', () =>
    stores().using(async (store, name) => {
      await store.put(set, 9, [tile(0, 0, 'whole'), tile(1, 0, 'broken')], 0);
      const bucket = await stores().bucket(name);
      const [key = ''] = await packsIn(bucket, stores().prefix(name));
      const bytes = await bucket.get(key);
      bytes?.fill('x', bytes.length - 2);
      await bucket.put(key, bytes ?? Buffer.alloc(0));
      expect(await store.get(set, { z: 9, x: 1, y: 0 })).toBeNull();
      expect((await store.get(set, { z: 9, x: 0, y: 0 }))?.bytes.toString()).toBe('whole');
      bucket.close();
    }));

  it('a copy of the disk tier is served only while the index names the same object', () =>
    stores().using(async (store, name) => {
      const copies = createMemoryStore({ type: 'memory' });
      let alone = false;
      let away = false;
      let known = false;
      const outage = { isAway: () => known, mayShow: async () => alone };
      const database = { ...stores().database };
      Object.defineProperty(database, 'query', {
        get: () => {
          if (away) throw new Error('away');
          return stores().database.query;
        },
      });
      const near = await stores().open(name, {
        database,
        copies,
        cache: { size: '1 MiB' },
        outage,
      });
      const gets = requestsOf(near, 'get');
      const text = async () => (await near.get(set, { z: 9, x: 1, y: 1 }))?.bytes.toString() ?? null;
      const cursor = (await near.changesSince?.(null))?.cursor ?? '';
      await store.put(set, 9, metatile(0, 0, 'first', 1), 0);
      expect(await text()).toBe('first 5');
      await eventually('the pack is copied', () => copies.get(set, { z: 9, x: 2, y: 2 }));
      expect(await text()).toBe('first 5');
      expect(requestsOf(near, 'get')).toBe(gets + 1);
      away = true;
      await expect(text()).rejects.toMatchObject({ code: 'store-failed' });
      alone = true;
      expect(await text()).toBe('first 5');
      away = false;
      await store.put(set, 9, metatile(0, 0, 'second', 2), 0);
      expect(await text()).toBe('second 5');
      await raise(store, 'roads');
      await store.drop('roads', null);
      expect(await text()).toBeNull();
      await near.changesSince?.(cursor);
      away = true;
      await expect(text()).rejects.toMatchObject({ code: 'store-failed' });
      known = true;
      expect(await text()).toBeNull();
      await near.close();
    }));

  it('a read of a silent database is given up long before its statement times out', () =>
    stores().using(async (store, name) => {
      await store.put(set, 9, metatile(0, 0, 'first', 1), 0);
      const way = await openDatabaseProxy(stores().location);
      const silent = await openDatabase({ location: way.address, clock: systemClock, log: silentLogger });
      const far = await stores().open(name, { database: silent });
      // A connection for each question: to connect has a limit of its own.
      await Promise.all([silent.now(), silent.now(), silent.now()]);
      way.block();
      const statement = silent.now().catch(() => 'the statement');
      const refused = (error: unknown) => (error as TilewardenError).code;
      const asked = [
        Promise.resolve(far.get(set, { z: 9, x: 1, y: 1 })).catch(refused),
        far.marks('roads').catch(refused),
      ];
      for (const one of asked) expect(await Promise.race([statement, one])).toBe('store-failed');
      await way.close();
      await statement;
      await far.close();
      await silent.close();
    }));
});

describeOnObjectStores('the driver of a store of packs', (service, stores) => {
  it('a metatile is written with one request and read with one, which brings the tiles beside it', () =>
    stores().using(async (store) => {
      const [puts, gets] = [requestsOf(store, 'put'), requestsOf(store, 'get')];
      await store.put(set, 9, metatile(4, 8, 'map'), 0);
      expect(requestsOf(store, 'put')).toBe(puts + 1);
      const beside: string[] = [];
      const found = await store.get(set, { z: 9, x: 5, y: 9 }, ({ x, y }, { bytes }) =>
        beside.push(`${x},${y} ${bytes.toString()}`),
      );
      expect(found?.bytes.toString()).toBe('map 5');
      expect(requestsOf(store, 'get')).toBe(gets + 1);
      expect(beside).toHaveLength(15);
      expect(beside).toContain('7,11 map 15');
    }));

  it('a tile without its object is absent, and counted no longer', () =>
    stores().using(async (store, name) => {
      await store.put(set, 9, [tile(0, 0, 'lost')], 0);
      const bucket = await stores().bucket(name);
      await bucket.remove(await packsIn(bucket, stores().prefix(name)));
      expect(await store.get(set, { z: 9, x: 0, y: 0 })).toBeNull();
      expect(await collect(pagesIn(store, { set }))).toEqual([]);
      bucket.close();
    }));

  it('no tile is lost when a server without the bucket answers for a while', async () => {
    const proxy = await openFaultProxy(await service.origin(), service.absent);
    await stores().using(
      async (store, name) => {
        await store.put(set, 9, metatile(0, 0, 'kept'), 0);
        proxy.mode = 'no-bucket';
        for (let x = 0; x < 4; x++) {
          await expect(store.get(set, { z: 9, x, y: 0 })).rejects.toMatchObject({ code: 'store-failed' });
        }
        proxy.mode = 'pass';
        expect(await collect(tilesIn(store, set, 9))).toHaveLength(16);
        await eventually('the store answers again', async () => {
          const found = await Promise.resolve(store.get(set, { z: 9, x: 1, y: 0 })).catch(() => null);
          return found?.bytes.toString() === 'kept 1';
        });
        const bucket = await stores().bucket(name);
        expect(await packsIn(bucket, stores().prefix(name))).toHaveLength(1);
        bucket.close();
      },
      { origin: proxy.url },
    );
    await proxy.close();
  });

  it('a store does not open if its bucket is missing or its database cannot hold the index', async () => {
    const missing = stores().open('missing', { bucket: 'no-such-bucket' });
    await expect(missing).rejects.toMatchObject({
      code: 'config-invalid',
      message: `The ${service.noun} no-such-bucket of a tile store does not exist; create it, or name another one.`,
    });
    const database = { ...stores().database, dialect: 'sqlite' as const };
    await expect(stores().open('tiles', { database })).rejects.toMatchObject({
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

/** What is asked takes effect, and its answer does not arrive. */
function losingResponses<Executor extends object>(executor: Executor): Executor {
  return new Proxy(executor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'executeQuery') return value.bind(target);
      return async (...given: unknown[]) => {
        await value.apply(target, given);
        throw new Error('the connection was lost');
      };
    },
  });
}
