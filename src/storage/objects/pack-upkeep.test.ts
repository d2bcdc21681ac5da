import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { collect, NOTHING, sortedPages, tile } from '../../../test/contracts/tile-store-tools.ts';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { openFaultProxy } from '../../../test/fixtures/network.ts';
import {
  describeOnObjectStore,
  describeOnObjectStores,
  metatile,
  openTestStores,
  packsIn,
  requestsOf,
} from '../../../test/fixtures/pack-stores.ts';
import type { Database } from '../../db/database.ts';
import type { TilewardenError } from '../../domain/errors.ts';
import { systemClock } from '../../lib/clock.ts';
import { copyTiles } from '../copy-tiles.ts';
import { Directory } from '../index/directory.ts';
import { PackIndex } from '../index/postgres/pack-index.ts';
import { countStored, pagesIn } from '../read-tiles.ts';
import { createMemoryStore } from '../segments/memory-store.ts';
import { findUnlisted, oldPacks } from './pack-sweeper.ts';
import { createSentinel } from './sentinel.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

describeOnObjectStore('the upkeep of packs', (service, stores) => {
  it('pages of a dropped tile set that a crash has left are forgotten before it counts as swept', async () => {
    let sweeps = false;
    await stores().using(
      async (store) => {
        const { change, query } = stores().database;
        await store.put(set, 9, metatile(0, 0, 'a'), 0);
        const id = await lastTileSet(stores().database);
        await store.drop('roads', null);
        for (const table of ['packs', 'usage'])
          await sql`delete from ${sql.table(table)} where tile_set = ${id}`.execute(change);
        sweeps = true;
        const swept = sql`select from tile_sets where id = ${id} and swept`;
        await eventually('it is swept', async () => (await swept.execute(query)).rows.length === 1);
        expect((await sql`select from pages where tile_set = ${id}`.execute(query)).rows).toEqual([]);
      },
      { sweeps: () => sweeps },
    );
  });

  it('a store of packs is filled from another and emptied into one by copying', () =>
    stores().using(async (store) => {
      const memory = createMemoryStore({ type: 'memory' });
      await memory.put(set, 9, [...metatile(0, 0, 'a', 5), ...metatile(14, 14, 'b', 6)], 0);
      const order = { layer: null, signal: new AbortController().signal, onProgress: () => {} };
      expect(await copyTiles({ ...order, from: memory, to: store })).toMatchObject({ tiles: 32, present: 0 });
      expect(await copyTiles({ ...order, from: memory, to: store })).toMatchObject({
        tiles: 32,
        present: 32,
      });
      const back = createMemoryStore({ type: 'memory' });
      await copyTiles({ ...order, from: store, to: back });
      expect((await back.get(set, { z: 9, x: 17, y: 17 }))?.bytes.toString()).toBe('b 15');
      expect(sortedPages(await collect(pagesIn(back, { set })))).toEqual(
        sortedPages(await collect(pagesIn(memory, { set }))),
      );
    }));

  it('reads end within their limit while one object in five hangs, and are served again when none does', async () => {
    const proxy = await openFaultProxy(await service.origin());
    const few = { origin: proxy.url, connections: 4, timeoutSeconds: 4 };
    const name = `partly-slow-${service.name}`;
    const writer = await stores().open(name);
    const columns = Array.from({ length: 60 }, (_, x) => x);
    await writer.put(
      set,
      9,
      columns.map((x) => tile(8 * x, 0, `tile ${x}`)),
      0,
    );
    const store = await stores().open(name, { ...few, sweeps: () => false });
    const read = async (x: number) => store.get(set, { z: 9, x: 8 * x, y: 0 });
    // Keys end with column and row of the pack, and a random part.
    proxy.hangs = (asked) => Number(/^GET .*\/(\d+)_0_/.exec(asked)?.[1] ?? 1) % 5 === 0;
    const outcomes = await Promise.all(
      columns.map((x) => read(x).then((found) => found?.bytes.toString(), codeOfFailure)),
    );
    const healthy = outcomes.filter((_, x) => x % 5 > 0);
    expect(outcomes.filter((_, x) => x % 5 === 0)).toEqual(Array(12).fill('store-failed'));
    // Four connections that hang one after the other would take the time of all others.
    expect(healthy.filter((outcome) => outcome !== 'store-failed').length).toBeGreaterThan(24);
    proxy.hangs = () => false;
    for (const x of columns.slice(0, 6)) {
      await eventually('the tile is served', () => read(x).catch(() => null));
    }
    await store.close();
    await writer.close();
    await proxy.close();
  });

  it('the sweep finds objects that a crash has left without a row, but not those still being written', () =>
    stores().using(async (store, name) => {
      await store.put(set, 9, metatile(0, 0, 'map'), 0);
      const bucket = await stores().bucket(name);
      const prefix = stores().prefix(name);
      const listed = (await bucket.list(prefix, null)).objects.find(({ key }) => !key.endsWith('.json'));
      const left = `${listed?.key.slice(0, -8)}01234567`;
      const foreign = [`${prefix}notes.txt`, `${listed?.key.replace(/\/\d+\/9\//, '/99999/9/')}`];
      for (const key of [left, ...foreign]) await bucket.put(key, Buffer.from('x'));
      const { objects } = await bucket.list(prefix, null);
      expect(objects).toHaveLength(5);
      const unlistedAt = (now: number) =>
        findUnlisted(stores().database, name, oldPacks(prefix, objects, now), now);
      expect(await unlistedAt(Date.now())).toEqual([]);
      expect(await unlistedAt(Date.now() + 25 * 3_600_000)).toEqual([left]);
      bucket.close();
    }));

  it('objects of tile sets that are unknown to a restored database go after a day', async () => {
    let later = 0;
    const clock = {
      ...systemClock,
      now: () => systemClock.now() + later,
      monotonic: () => systemClock.monotonic() + later,
    };
    await stores().using(
      async (store, name) => {
        await store.put(set, 9, metatile(0, 0, 'kept'), 0);
        await store.put({ ...set, layer: 'lost' }, 9, metatile(0, 0, 'lost'), 0);
        const lost = sql`(select id from tile_sets where store = ${name} and layer = '"lost"')`;
        for (const table of ['packs', 'pages', 'usage'])
          await sql`delete from ${sql.table(table)} where tile_set in ${lost}`.execute(
            stores().database.change,
          );
        await sql`delete from tile_sets where id in ${lost}`.execute(stores().database.change);
        const dropped = sql<{ id: number }>`select id from tile_sets where store = ${name} and swept`;
        const isListed = async () => (await dropped.execute(stores().database.query)).rows.length === 1;
        const bucket = await stores().bucket(name);
        const objects = async () => (await packsIn(bucket, stores().prefix(name))).length;
        expect(await isListed()).toBe(false);
        later = 25 * 3_600_000;
        await eventually('the tile set is listed as dropped', isListed);
        expect(await objects()).toBe(2);
        later += 25 * 3_600_000;
        const anHourLater = () => {
          later += 3_600_000;
          return objects();
        };
        await eventually('its object is gone', anHourLater, (left) => left === 1);
        expect((await store.get(set, { z: 9, x: 0, y: 0 }))?.bytes.toString()).toBe('kept 0');
        bucket.close();
      },
      { clock },
    );
  });

  it('an object that is being written stays when the clock of the sweeping node jumps ahead', async () => {
    let jump = 0;
    const now = () => systemClock.now() + jump * 100_000;
    const monotonic = () => systemClock.monotonic() + jump;
    await stores().using(
      async (store, name) => {
        await store.put(set, 9, metatile(0, 0, 'a'), 0);
        const bucket = await stores().bucket(name);
        const [listed = ''] = await packsIn(bucket, stores().prefix(name));
        await bucket.put(`${listed.slice(0, -8)}01234567`, Buffer.from('x'));
        const lists = requestsOf(store, 'list');
        const audits = () => {
          jump += 10_000;
          return requestsOf(store, 'list') - lists;
        };
        await eventually('all objects were looked through', audits, (done) => done >= 2);
        expect(await packsIn(bucket, stores().prefix(name))).toHaveLength(2);
        bucket.close();
      },
      { clock: { ...systemClock, now, monotonic } },
    );
  });

  it('a database that is younger than the objects leaves unknown ones alone', () =>
    stores().using(async (store, name) => {
      await store.put(set, 9, metatile(0, 0, 'a'), 0);
      const made = await openTestStores(service);
      const bucket = await stores().bucket(name);
      const options = { bucket, prefix: stores().prefix(name), database: made.database, name };
      const index = new PackIndex(made.database, name);
      const sentinel = createSentinel({ ...options, index });
      expect(await sentinel.problem()).toBeNull();
      expect(await sentinel.listsAll()).toBe(false);
      const own = createSentinel({ ...options, database: stores().database, index });
      expect(await own.listsAll()).toBe(true);
      bucket.close();
      await made.close();
    }));
});

describeOnObjectStores('the upkeep of packs', (service, stores) => {
  it('objects of replaced and dropped tiles are removed, a thousand with one request', async () => {
    let sweeps = false;
    await stores().using(
      async (store) => {
        const tiles = Array.from({ length: 5 }, (_, x) => tile(8 * x, 0, 'a', 1));
        await store.put(set, 12, tiles, 0);
        await addPacks(stores().database, 17);
        const renewed = tiles.map((one) => ({ ...one, createdAt: 2 }));
        await store.put(set, 12, renewed, 0);
        expect((await store.usage()).sweeping).toMatchObject({ files: 5 });
        sweeps = true;
        await store.drop('roads', null);
        const isOver = ({ files }: { readonly files: number }) => files === 0;
        await eventually('all objects are gone', async () => (await store.usage()).sweeping, isOver);
        expect(requestsOf(store, 'delete')).toBe(service.name === 's3' ? 3 : 6);
      },
      { sweeps: () => sweeps },
    );
  });

  it('packs are listed again from their bucket when the database is lost, with the newest of each tile', () =>
    stores().using(async (store, name) => {
      await store.put(set, 9, metatile(0, 0, 'old', 1), 0);
      await store.put(set, 9, metatile(2, 0, 'new', 2), 0);
      await store.put(
        { ...set, layer: 'rivers' },
        3,
        [{ ...tile(5, 6, 'r', 9), validator: '"v"', madeBy: 4 }],
        0,
      );
      const lost = await openTestStores(service);
      const rebuild = (resume: boolean) => stores().rebuild(name, { database: lost.database, resume });
      expect(await rebuild(false)).toMatchObject({ packs: 3, leftOut: 0 });
      await expect(rebuild(false)).rejects.toMatchObject({ code: 'config-invalid' });
      await rebuild(true);
      const again = await lost.open(name, { prefix: stores().prefix(name) });
      const text = async (x: number) => (await again.get(set, { z: 9, x, y: 0 }))?.bytes.toString();
      expect([await text(0), await text(2), await text(5)]).toEqual(['old 0', 'new 0', 'new 3']);
      expect(await again.get({ ...set, layer: 'rivers' }, { z: 3, x: 5, y: 6 })).toMatchObject({ madeBy: 4 });
      expect(sortedPages(await collect(pagesIn(again, { set })))).toEqual(
        sortedPages(await collect(pagesIn(store, { set }))),
      );
      await again.drop('rivers', null);
      await again.put({ ...set, layer: 'rivers' }, 3, [tile(5, 6, 'again', 10)], 0);
      await again.close();
      await lost.close();
    }));

  it('tickets are later than those of listed packs also when their listing is interrupted', () =>
    stores().using(async (store, name) => {
      const place = { gridSet: set.gridSet, z: 9, rect: { minX: 0, minY: 0, maxX: 15, maxY: 15 } };
      await new PackIndex(stores().database, name).ticketsAfter(1000);
      const { number } = await store.ticket(set.layer, place);
      await store.put(set, 9, metatile(0, 0, 'a'), number);
      const lost = await openTestStores(service);
      const listing = stores().rebuild(name, {
        database: lost.database,
        resume: false,
        onProgress: () => {
          throw new Error('interrupted');
        },
      });
      await expect(listing).rejects.toThrow('interrupted');
      const again = await lost.open(name, { prefix: stores().prefix(name) });
      expect((await again.ticket(set.layer, place)).number).toBeGreaterThan(number);
      await again.close();
      await lost.close();
    }));

  it('a listing fails if one of its packs does, and is resumed', () =>
    stores().using(async (store, name) => {
      for (const x of [0, 8, 16]) await store.put(set, 9, metatile(x, 0, `at ${x}`), 0);
      const lost = await openTestStores(service);
      const failures = [new Error('the first pack failed')];
      const onProgress = () => {
        const failure = failures.pop();
        if (failure) throw failure;
      };
      const rebuild = (resume: boolean) =>
        stores().rebuild(name, { database: lost.database, resume, onProgress }, { connections: 1 });
      await expect(rebuild(false)).rejects.toThrow('the first pack failed');
      expect(await rebuild(true)).toMatchObject({ packs: 3, leftOut: 0 });
      await lost.close();
    }));

  it('an object store that fails or is slow is left alone, and used again when it is back', async () => {
    const proxy = await openFaultProxy(await service.origin());
    // The pause does not end by itself.
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    await stores().using(
      async (store) => {
        await store.put(set, 9, metatile(0, 0, 'map'), 0);
        const get = async () => store.get(set, { z: 9, x: 0, y: 0 });
        proxy.mode = 'fail';
        for (let failure = 0; failure < 5; failure++)
          await expect(get()).rejects.toMatchObject({ code: 'store-failed' });
        await expect(get()).rejects.toMatchObject({
          message: 'The object store is paused for a moment after several failures.',
        });
        proxy.mode = 'pass';
        now += 60_000;
        expect((await get())?.bytes.toString()).toBe('map 0');
      },
      // A listing of the bucket would be the trial after the pause.
      { origin: proxy.url, clock, sweeps: () => false },
    );
    await stores().using(
      async (store) => {
        proxy.mode = 'slow';
        const late = store.put(set, 9, metatile(0, 0, 'map'), 0);
        await expect(late).rejects.toMatchObject({ code: 'store-failed' });
        expect(await countStored(store, set, 9, { minX: 0, minY: 0, maxX: 9, maxY: 9 })).toEqual(NOTHING);
      },
      { origin: proxy.url, timeoutSeconds: 0.2 },
    );
    await proxy.close();
  });

  it('a write under way is not repeated while the object store is left alone', async () => {
    const proxy = await openFaultProxy(await service.origin());
    // The pause does not end.
    const clock = { ...systemClock, monotonic: () => 0 };
    await stores().using(
      async (store) => {
        await store.put(set, 9, metatile(0, 0, 'map'), 0);
        let writes = 0;
        proxy.watch = (asked) => void (asked.startsWith('PUT') && writes++);
        proxy.hangs = (asked) => asked.startsWith('PUT');
        const write = store.put(set, 9, metatile(4, 4, 'map'), 0).catch(codeOfFailure);
        await eventually('the write is under way', () => writes === 1);
        proxy.mode = 'fail';
        for (let failure = 0; failure < 5; failure++)
          await expect(store.get(set, { z: 9, x: 0, y: 0 })).rejects.toMatchObject({ code: 'store-failed' });
        proxy.mode = 'pass';
        proxy.hangs = () => false;
        proxy.cut();
        expect(await write).toBe('store-failed');
        expect(writes).toBe(1);
      },
      { origin: proxy.url, clock },
    );
    await proxy.close();
  });
});

function codeOfFailure(error: unknown): string {
  return (error as TilewardenError).code;
}

/** Rows with 64 objects each, which do not exist: they are removed as others are. */
async function addPacks(database: Database, count: number): Promise<void> {
  const id = await lastTileSet(database);
  const making = { ticket: 0, createdAt: 1, freshUntil: null, madeBy: null, validator: null };
  for (let x = 0; x < count; x++) {
    const position = { set: id, z: 12, x, y: 999 };
    const tiles = Array.from({ length: 64 }, (_, slot) => {
      return { slot, segment: slot, offset: 0, length: 1, checksum: 0, making };
    });
    await sql`insert into packs (tile_set, z, band, x, y, tiles, bytes, detail)
      values (${id}, 12, 999 >> 5, ${x}, 999, 64, 64, ${Directory.write(tiles, position)})`.execute(
      database.change,
    );
  }
}

async function lastTileSet(database: Database): Promise<number> {
  const { rows } = await sql<{ id: number }>`select max(id) as id from tile_sets`.execute(database.query);
  return rows[0]?.id ?? 0;
}
