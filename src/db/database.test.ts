import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Migration, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { throughProxy } from '../../test/fixtures/network.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import type { Database } from './database.ts';
import { migrationsFor } from './migrate.ts';
import { openDatabase } from './open-database.ts';

const quiet = { clock: systemClock, log: silentLogger };
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tilewarden-db-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

let files = 0;
const places = {
  sqlite: async () => join(folder, `${++files}.db`),
  postgres: createPostgresDatabase,
};

async function carriedOut({ query }: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(
    query,
  );
  return rows.map(({ name }) => name);
}

describe.each(['sqlite', 'postgres'] as const)('a database on %s', (dialect) => {
  async function withDatabase(work: (database: Database, location: string) => Promise<void>): Promise<void> {
    const location = await places[dialect]();
    const database = await openDatabase({ location, ...quiet });
    try {
      await work(database, location);
    } finally {
      await database.close();
    }
  }

  it(`a database on ${dialect} opens the second time without changing anything`, () =>
    withDatabase(async (database, location) => {
      const before = await carriedOut(database);
      await (await openDatabase({ location, ...quiet })).close();
      expect(before).toEqual(Object.keys(migrationsFor(dialect)));
      expect(await carriedOut(database)).toEqual(before);
      expect(database.dialect).toBe(dialect);
    }));

  it(`a database on ${dialect} migrates once when several processes open it together`, async () => {
    const location = await places[dialect]();
    const opened = await Promise.all([1, 2, 3].map(() => openDatabase({ location, ...quiet })));
    for (const database of opened) await database.close();
    expect(opened).toHaveLength(3);
  });

  const upgraded = (up: Migration['up']) => ({ ...migrationsFor(dialect), '9999-later': { up } });

  it(`a database on ${dialect} that a later version has changed is refused, with what to do`, async () => {
    const location = await places[dialect]();
    await (await openDatabase({ location, ...quiet, migrations: upgraded(async () => {}) })).close();
    const opening = openDatabase({ location, ...quiet });
    await expect(opening).rejects.toMatchObject({
      code: 'database-ahead',
      message: expect.stringContaining('restore a backup'),
    });
  });

  it(`a database on ${dialect} of version 0.2 is refused, with what to do, and stays as it is`, async () => {
    const location = await places[dialect]();
    const steps = ['0001-create-tables', '0002-create-packs'].map(
      (name) => [name, { async up() {} }] as const,
    );
    const migrations = Object.fromEntries(steps);
    await (await openDatabase({ location, ...quiet, migrations })).close();
    await expect(openDatabase({ location, ...quiet })).rejects.toMatchObject({
      code: 'database-behind',
      message: expect.stringContaining('another --data folder or --database'),
    });
    const old = await openDatabase({ location, ...quiet, migrations });
    expect(await carriedOut(old)).toHaveLength(2);
    await old.close();
  });

  it(`a database on ${dialect} has nothing left of a migration that fails half-way`, () =>
    withDatabase(async (database, location) => {
      const before = await carriedOut(database);
      const migrations = upgraded(async (query) => {
        await query.schema.createTable('half').addColumn('id', 'integer').execute();
        throw new Error('power cut');
      });
      await expect(openDatabase({ location, ...quiet, migrations })).rejects.toThrow('power cut');
      const tables = await database.query.introspection.getTables();
      expect(tables.map((table) => table.name)).not.toContain('half');
      expect(await carriedOut(database)).toEqual(before);
    }));

  it(`a database on ${dialect} keeps whole numbers exact up to 2^63 − 1`, () =>
    withDatabase(async (database) => {
      const value = 9_223_372_036_854_775_807n;
      const row = await database.transaction('test', (query) =>
        query
          .insertInto('counters')
          .values({ name: 'big', value: value as unknown as number })
          .returning('value')
          .executeTakeFirstOrThrow(),
      );
      expect(row.value).toBe(value);
      const small = await database.query
        .selectFrom('counters')
        .select('value')
        .where('name', '=', 'catalog')
        .executeTakeFirstOrThrow();
      expect(small.value).toBe(0);
    }));

  it(`a database on ${dialect} undoes a transaction whose work throws`, () =>
    withDatabase(async (database) => {
      const failing = database.transaction('test', async (query) => {
        await query.insertInto('counters').values({ name: 'gone', value: 1 }).execute();
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      const rows = await database.query
        .selectFrom('counters')
        .where('name', '=', 'gone')
        .selectAll()
        .execute();
      expect(rows).toEqual([]);
    }));

  it(`a database on ${dialect} runs transactions under one lock one after the other, from several connections`, () =>
    withDatabase(async (first, location) => {
      const second = await openDatabase({ location, ...quiet });
      const raise = (database: Database) =>
        database.transaction('test', async (query) => {
          const { value } = await query
            .selectFrom('counters')
            .select('value')
            .where('name', '=', 'catalog')
            .executeTakeFirstOrThrow();
          await query
            .updateTable('counters')
            .set({ value: value + 1 })
            .where('name', '=', 'catalog')
            .execute();
        });
      await Promise.all(Array.from({ length: 40 }, (_, i) => raise(i % 2 ? first : second)));
      const row = await first.query
        .selectFrom('counters')
        .select('value')
        .where('name', '=', 'catalog')
        .executeTakeFirstOrThrow();
      expect(row.value).toBe(40);
      await second.close();
    }));

  it(`a database on ${dialect} notifies listeners until they stop listening`, () =>
    withDatabase(async (database) => {
      let notified = 0;
      const stop = database.listen('tasks', () => notified++);
      await expect
        .poll(async () => {
          await database.notify('tasks');
          return notified;
        })
        .toBeGreaterThan(0);
      stop();
      const before = notified;
      await database.notify('tasks');
      await database.notify('others');
      expect(notified).toBe(before);
    }));

  it(`a notification on ${dialect} that cannot be sent does not fail its sender`, () =>
    withDatabase((database) => database.notify('too long '.repeat(1000))));
});

it('reading from PostgreSQL goes on while more transactions than it has connections wait for a lock', async () => {
  const location = await places.postgres();
  const holder = await openDatabase({ location, ...quiet });
  const waiter = await openDatabase({ location, ...quiet });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const holding = holder.transaction('tasks', () => released);
  const waiting = Array.from({ length: 10 }, () => waiter.transaction('tasks', async () => 'done'));
  for (let i = 0; i < 20; i++) {
    await waiter.query.selectFrom('counters').select('name').execute();
    await waiter.notify('tasks');
  }
  release();
  await holding;
  expect(await Promise.all(waiting)).toHaveLength(10);
  await holder.close();
  await waiter.close();
});

/** Ends every connection as soon as it is made, and passes on in one piece what the server says then. */
async function openEndingProxy(address: string): Promise<{ readonly port: number }> {
  const administrator = await openDatabase({ location: address, ...quiet });
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const { hostname, port } = new URL(address);
    const far = connect(Number(port), hostname);
    sockets.push(near, far);
    const held: Buffer[] = [];
    near.pipe(far).on('data', (chunk: Buffer) => {
      // BackendKeyData: the letter, four bytes of length, four of the process id. What follows says that it is ready.
      const key = chunk.indexOf('K\0\0\0');
      if (key < 0 && held.length === 0) return void near.write(chunk);
      held.push(chunk);
      if (key < 0) return;
      // The test may be over by now.
      sql`select pg_terminate_backend(${chunk.readInt32BE(key + 5)})`
        .execute(administrator.query)
        .catch(() => near.destroy());
    });
    far.on('end', () => near.end(Buffer.concat(held)));
    for (const socket of [near, far]) socket.on('error', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenOver(() => {
    server.close();
    // A connection that is still being made would need the administrator.
    for (const socket of sockets) socket.destroy();
    return administrator.close();
  });
  return server.address() as AddressInfo;
}

it('a connection to PostgreSQL that ends while it is made is refused, and harms nothing else', async () => {
  const address = await places.postgres();
  const location = throughProxy(address, await openEndingProxy(address));
  await expect(openDatabase({ location, ...quiet })).rejects.toMatchObject({ code: 'database-unreachable' });
});

it('an address where no PostgreSQL answers is refused without naming it', async () => {
  const location = 'postgres://someone:secret@127.0.0.1:1/none';
  const opening = openDatabase({ location, ...quiet });
  await expect(opening).rejects.toMatchObject({ code: 'database-unreachable' });
  await expect(opening).rejects.not.toThrow('secret');
});
