import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { tile } from '../../../test/contracts/tile-store-tools.ts';
import { rectOfTile } from '../../domain/tile-rect.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { schemaKit } from '../../lib/schemas.ts';
import type { TileStore } from '../tile-store.ts';
import { syncBundle } from './bundle-file.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
const place = { z: 5, x: 1, y: 2 };
const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });

let root: string;
const stores: TileStore[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tilewarden-rest-'));
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(root, { recursive: true, force: true });
});

async function open(): Promise<TileStore> {
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  stores.push(store);
  return store;
}

async function close(store: TileStore): Promise<void> {
  stores.splice(stores.indexOf(store), 1);
  await store.close();
}

/** The files of the one bundle there is. */
function bundleFiles(): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /0_0.*\.sqlite/.test(path),
  );
}

/** Byte 18 of an SQLite file: 1 when it has no log. */
const isAtRest = () =>
  bundleFiles().length === 1 && readFileSync(join(root, bundleFiles()[0] ?? ''))[18] === 1;

async function written(content: string): Promise<void> {
  const store = await open();
  await store.putMany(set, 5, [tile(1, 2, content)], 0);
  await close(store);
}

const bytesIn = async (store: TileStore) => (await store.get(set, place))?.bytes.toString();

it('a bundle without a writer is read without a second file', async () => {
  await written('a');
  expect(isAtRest()).toBe(true);
  const store = await open();
  expect(await bytesIn(store)).toBe('a');
  expect(bundleFiles()).toHaveLength(1);
});

it('a reader of a bundle at rest sees what another store writes to it, and what it removes', async () => {
  await written('a');
  const reader = await open();
  expect(await bytesIn(reader)).toBe('a');
  const writer = await open();
  for (const content of ['b', 'c', 'd']) {
    await writer.putMany(set, 5, [tile(1, 2, content, Date.now())], 0);
    expect(await bytesIn(reader)).toBe(content);
  }
  await writer.edit(set, 5, { minX: 1, minY: 2, maxX: 1, maxY: 2 }, { type: 'remove' });
  expect(await bytesIn(reader)).toBeUndefined();
});

it('a bundle that was read while it was written comes to rest when its last reader leaves it', async () => {
  await written('a');
  const reader = await open();
  const writer = await open();
  await writer.putMany(set, 5, [tile(1, 2, 'b', Date.now())], 0);
  expect(await bytesIn(reader)).toBe('b');
  await close(writer);
  expect(isAtRest()).toBe(false);
  await close(reader);
  expect(isAtRest()).toBe(true);
});

it('two stores that write by turns to a bundle at rest lose nothing', async () => {
  const [one, other] = [await open(), await open()];
  for (let x = 0; x < 40; x++) {
    const [writer, reader] = x % 2 === 0 ? [one, other] : [other, one];
    await writer.putMany(set, 5, [tile(x, 0, `${x}`)], 0);
    expect((await reader.get(set, { z: 5, x, y: 0 }))?.bytes.toString()).toBe(`${x}`);
  }
  await close(one);
  await close(other);
  const store = await open();
  expect(await store.present(set, 5, { minX: 0, minY: 0, maxX: 127, maxY: 0 }, 0)).toHaveLength(40);
});

/** Another process that holds `file` for a moment, longer than it takes to be refused. */
async function whileHeld(file: string, lock: 'IMMEDIATE' | 'EXCLUSIVE', work: () => Promise<unknown>) {
  const holder = new Database(join(root, file));
  holder.exec(`BEGIN ${lock}`);
  const working = work().catch((error: unknown) => error);
  const first = await Promise.race([working, systemClock.sleep(500).then(() => 'waits')]);
  holder.close();
  expect(first).toBe('waits');
  return working;
}

it('a writer waits while another process describes the bundle that it has put to rest', async () => {
  await written('a');
  const store = await open();
  const put = () => store.putMany(set, 5, [tile(2, 2, 'b')], 0);
  expect(await whileHeld(bundleFiles()[0] ?? '', 'IMMEDIATE', put)).toEqual({ tiles: 1, bytes: 1 });
});

it('a truncation of a part is in the file of the bundle when it is acknowledged, not in its log alone', async () => {
  const store = await open();
  await store.putMany(set, 5, [tile(1, 2, 'gone'), tile(9, 9, 'stays')], 0);
  const before = await store.raiseGeneration(set.layer);
  const removed = await store.edit(set, 5, rectOfTile({ x: 1, y: 2 }), { type: 'remove', before });
  expect(removed.tiles).toBe(1);
  expect(inFileAlone('SELECT count(*) FROM tile')).toBe(1);
});

it('a truncation that is repeated after a crash is in the file of the bundle too', async () => {
  await written('gone');
  const crashed = new Database(join(root, bundleFile()));
  crashed.exec('PRAGMA journal_mode = WAL; DELETE FROM tile; UPDATE page SET tiles = 1');
  const store = await open();
  const before = await store.raiseGeneration(set.layer);
  const removed = await store.edit(set, 5, rectOfTile({ x: 1, y: 2 }), { type: 'remove', before });
  expect(removed.tiles).toBe(0);
  expect(inFileAlone('SELECT count(*) FROM tile')).toBe(0);
  crashed.close();
});

it('an invalidation is in the file of the bundle when its mark may be closed', async () => {
  const store = await open();
  await store.putMany(set, 5, [tile(1, 2, 'old')], 0);
  const before = await store.raiseGeneration(set.layer);
  await store.edit(set, 5, rectOfTile({ x: 1, y: 2 }), { type: 'outdate', at: 7, before });
  expect(inFileAlone('SELECT fresh_until FROM tile')).toBe(-7);
});

it('a bundle whose log a reader keeps is not taken for synced', async () => {
  await written('a');
  const file = join(root, bundleFile());
  const [writer, reader] = [new Database(file), new Database(file)];
  writer.pragma('journal_mode = WAL');
  reader.exec('BEGIN; SELECT * FROM tile');
  writer.exec('DELETE FROM tile');
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 10_000;
    return now;
  });
  expect(() => syncBundle(writer)).toThrow('a reader');
  clock.mockRestore();
  reader.close();
  syncBundle(writer);
  expect(inFileAlone('SELECT count(*) FROM tile')).toBe(0);
  writer.close();
});

const bundleFile = () => bundleFiles().find((name) => name.endsWith('.sqlite')) ?? '';

function inFileAlone(query: string): unknown {
  const copy = new Database(withoutLog(readFileSync(join(root, bundleFile()))));
  const value = copy.prepare(query).pluck().get();
  copy.close();
  return value;
}

/** As it is read without its log. */
function withoutLog(file: Buffer): Buffer {
  return file.fill(1, 18, 20);
}

it('the generations of many layers rise in one step, for every process', async () => {
  const [store, other] = [await open(), await open()];
  const first = await store.raiseGeneration('roads');
  const names = Array.from({ length: 300 }, (_, at) => `layer ${at}`);
  await store.raiseGenerations?.(['roads', ...names]);
  const raised = await Promise.all(['roads', ...names].map((name) => other.generation(name)));
  expect(Math.min(...raised)).toBeGreaterThan(first);
  await expect(other.putMany(set, 5, [tile(1, 2, 'late')], first)).rejects.toMatchObject({
    code: 'generation-stale',
  });
});

it('a store opens while another process raises a generation', async () => {
  await written('a');
  const store = await whileHeld('generations.sqlite', 'EXCLUSIVE', open);
  expect(store).toBe(stores[0]);
});
