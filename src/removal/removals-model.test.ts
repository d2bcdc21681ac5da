/**
 * Random histories of a cache: layers drawn from layers, former declarations, two processes with memory of their own on one
 * store, late sources, removals that overlap, that stop inside a step or whose answer is lost, a cleaner that is stopped,
 * clocks that jump, copies into another store, and backups that are made while tiles are written and restored later; on
 * PostgreSQL also with lost answers to any statement that changes something. A read that begins after a removal was
 * acknowledged never shows an older picture, nor one of another declaration.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { inLength, isLong, randomSeed } from '../../test/fixtures/length.ts';
import {
  describeOnMemoryObjects,
  describeOnObjectStores,
  losingStatements,
  type TestStores,
} from '../../test/fixtures/pack-stores.ts';
import {
  commands,
  History,
  restoredCommands,
  type SharedStores,
} from '../../test/fixtures/removal-history.ts';
import type { Database, Statements } from '../db/database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { backUpSegments } from '../storage/segments/back-up-segments.ts';
import { openSegmentStore } from '../storage/segments/segment-store.ts';

const OPTIONS = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29 };

function obeysRemovals(
  where: string,
  shared: () => SharedStores,
  numRuns: number,
  histories = commands,
  losing: fc.Arbitrary<boolean> = fc.constant(false),
): void {
  it(`a read after an acknowledged removal shows no older picture, whatever came in between, ${where}`, () =>
    fc.assert(
      fc.asyncProperty(histories, losing, async (history, isLost) => {
        const cache = new History(shared());
        shared().isLosing = isLost;
        for (const command of history) await cache.run(command);
        await cache.end();
      }),
      { numRuns, seed: randomSeed() },
    ));
}

/** Two processes on one store in segments, which its backups can replace. */
async function openSegments(folder: string) {
  const root = join(folder, 'store');
  const open = () => openSegmentStore(OPTIONS, { root, log: silentLogger, clock: systemClock });
  let backups = 0;
  const shared = {
    isLosing: false,
    stores: [await open(), await open()],
    async backUp() {
      const target = join(folder, `backup-${++backups}`);
      await backUpSegments({ root, target, signal: new AbortController().signal });
      return async () => {
        for (const store of shared.stores) await store.close();
        rmSync(root, { recursive: true });
        cpSync(target, root, { recursive: true });
        shared.stores = [await open(), await open()];
      };
    },
  };
  return shared;
}

describe('removals in segments', () => {
  let folder: string;
  let shared: Awaited<ReturnType<typeof openSegments>>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tilewarden-removals-'));
    shared = await openSegments(folder);
  });
  afterAll(async () => {
    for (const store of shared.stores) await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  it('a copy into another store during a removal shows no older picture there', async () => {
    const cache = new History(shared);
    const tile = { process: 0, layer: 0, place: 0 };
    await cache.run({ do: 'seed', ...tile });
    await cache.run({ do: 'change' });
    await cache.run({ do: 'copy' });
    await cache.run({ do: 'remove', ...tile, type: 'hide', fate: 'awaited' });
    await cache.end();
  });
  obeysRemovals('in segments', () => shared, inLength(200, 3000));
  obeysRemovals('in segments that are restored', () => shared, inLength(5, 500), restoredCommands);
});

const TABLES = ['tile_sets', 'packs', 'pages', 'usage', 'orphans', 'marks', 'raises', 'mark_places'];

/** As a dump of the database: the index as of one moment, and its sequences as of a later one. The objects stay as they are. */
async function dumpIndex({ transaction }: Database, dump: string): Promise<() => Promise<void>> {
  const run = (query: Statements, text: string) => sql.raw<Record<string, string>>(text).execute(query);
  const { rows } = await transaction(null, async (query) => {
    await run(query, 'set transaction isolation level repeatable read');
    await run(query, `create schema ${dump}`);
    for (const table of TABLES) await run(query, `create table ${dump}.${table} as table public.${table}`);
    return run(
      query,
      "select sequencename as name, last_value as value from pg_sequences where schemaname = 'public'",
    );
  });
  return () =>
    transaction(null, async (query) => {
      await run(query, `truncate ${TABLES.join()}`);
      for (const table of TABLES)
        await run(query, `insert into ${table} overriding system value table ${dump}.${table}`);
      for (const { name, value } of rows)
        await run(query, `select setval('${name}', ${value ?? 1}, ${value !== null})`);
      await run(query, `drop schema ${dump} cascade`);
    });
}

/** Two processes on one store in PostgreSQL; answers to changes may be lost, and the database be restored. */
async function openPacks(stores: TestStores) {
  let [changes, dumps] = [0, 0];
  const database = losingStatements(stores.database, () => shared.isLosing && ++changes % 3 === 0);
  const open = () => stores.open('model', { database });
  const shared: Mutable<SharedStores> = {
    isLosing: false,
    stores: [],
    async backUp() {
      const restore = await dumpIndex(stores.database, `dump_${++dumps}`);
      return async () => {
        for (const store of shared.stores) await store.close();
        await restore();
        shared.stores = [await open(), await open()];
      };
    },
  };
  shared.stores = [await open(), await open()];
  return shared;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function obeysInPacks(runs: number, restored: number): (_: unknown, opened: () => TestStores) => void {
  return (_, opened) => {
    let shared: SharedStores;
    beforeAll(async () => {
      shared = await openPacks(opened());
    });
    afterAll(async () => {
      for (const store of shared.stores) await store.close();
    });
    const [where, again] = ['in PostgreSQL', 'in PostgreSQL that is restored'];
    obeysRemovals(where, () => shared, runs, commands, fc.boolean());
    obeysRemovals(again, () => shared, restored, restoredCommands, fc.boolean());
  };
}

describeOnMemoryObjects('removals in PostgreSQL', obeysInPacks(inLength(3, 3000), inLength(2, 500)));
if (isLong) describeOnObjectStores('removals in packs', obeysInPacks(200, 100));
