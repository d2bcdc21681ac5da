import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { started } from '../../../scripts/started.mjs';
import { collect, recount, sortedPages, tile, tilesIn } from '../../../test/contracts/tile-store-tools.ts';
import { FROM_SOURCES } from '../../../test/fixtures/from-sources.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { schemaKit } from '../../lib/schemas.ts';
import type { TileStore } from '../tile-store.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';

const set = { layer: 'shared', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const all = { minX: 0, minY: 0, maxX: 255, maxY: 255 };
const script = new URL('../../../test/fixtures/bundle-store-process.ts', import.meta.url);
const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });

const folder = mkdtempSync(join(tmpdir(), 'bundle-processes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let root: string;
let ours: TileStore;
let theirs: TileStore;
const opened: TileStore[] = [];

async function open(): Promise<TileStore> {
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  opened.push(store);
  return store;
}

beforeEach(async () => {
  root = mkdtempSync(join(folder, 'root-'));
  ours = await open();
  theirs = await open();
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

async function startWriter(): Promise<ChildProcess> {
  const child = await started(fork(script, [root], { execArgv: FROM_SOURCES }));
  await once(child, 'message');
  return child;
}

async function stopWriter(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.send('stop');
  expect((await exited)[0]).toBe(0);
}

const contentAt = async (store: TileStore, x: number, y: number) =>
  (await store.get(set, { z: 8, x, y }))?.bytes.toString() ?? null;

it('a store shows what another has written, replaced and deleted', async () => {
  await ours.putMany(set, 8, [tile(1, 1, 'first'), tile(2, 1, 'stays')], 0);
  expect(await contentAt(theirs, 1, 1)).toBe('first');
  await ours.putMany(set, 8, [tile(1, 1, 'second')], 0);
  expect(await contentAt(theirs, 1, 1)).toBe('second');
  await ours.edit(set, 8, { minX: 1, minY: 1, maxX: 1, maxY: 1 }, { type: 'remove' });
  expect(await contentAt(theirs, 1, 1)).toBeNull();
  expect(await contentAt(theirs, 2, 1)).toBe('stays');
});

it.each([
  ['a whole bundle is deleted', (store: TileStore) => store.edit(set, 8, all, { type: 'remove' })],
  ['the tile set is dropped', (store: TileStore) => store.dropTileSet(set)],
  ['the layer is dropped', (store: TileStore) => store.dropLayer(set.layer)],
])('no store reads or loses anything through an open handle when %s', async (_, remove) => {
  for (let round = 0; round < 2; round++) {
    await theirs.putMany(set, 8, [tile(1, 1, `old ${round}`)], 0);
    expect(await contentAt(ours, 1, 1)).toBe(`old ${round}`);
    await remove(ours);
    expect(await contentAt(theirs, 1, 1)).toBeNull();
    await ours.putMany(set, 8, [tile(2, 1, `new ${round}`)], 0);
    await theirs.putMany(set, 8, [tile(3, 1, `newer ${round}`)], 0);
    const third = await open();
    for (const store of [ours, theirs, third]) {
      expect(await contentAt(store, 1, 1)).toBeNull();
      expect(await contentAt(store, 2, 1)).toBe(`new ${round}`);
      expect(await contentAt(store, 3, 1)).toBe(`newer ${round}`);
    }
  }
});

it('tiles that several stores write to the same bundles concurrently are counted', async () => {
  await Promise.all(
    [ours, theirs].flatMap((store, at) =>
      Array.from({ length: 40 }, (_, n) =>
        store.putMany(set, 8, [tile(120 + n, 127, 'x'.repeat(n + at)), tile(120 + n, 128, 'y')], 0),
      ),
    ),
  );
  const pages = sortedPages(await collect(ours.pages(set)));
  expect(pages.reduce((sum, page) => sum + page.tiles, 0)).toBe(80);
  expect(pages).toEqual(await recount(theirs, set));
});

async function newestOf(): Promise<number> {
  const entries = await collect(tilesIn(ours, set, 8));
  return Math.max(0, ...entries.map((entry) => entry.createdAt));
}

it('no tile of another process outlives a truncation that is newer', async () => {
  const child = await startWriter();
  const truncations = [
    () => ours.edit(set, 8, all, { type: 'remove' }),
    () => ours.dropLayer(set.layer),
    () => ours.dropTileSet(set),
  ];
  for (let round = 0; round < inLength(3, 60); round++) {
    const generation = await ours.raiseGeneration(set.layer);
    await truncations[round % truncations.length]?.();
    // Once the writer writes under the new generation, what it had in hand before has been stored or refused.
    await expect.poll(newestOf, { interval: 1 }).toBeGreaterThanOrEqual(generation);
    for await (const { createdAt } of tilesIn(ours, set, 8))
      expect(createdAt).toBeGreaterThanOrEqual(generation);
  }
  await stopWriter(child);
  expect(sortedPages(await collect(ours.pages(set)))).toEqual(await recount(ours, set));
});

it('every tile is whole and every page counted after a writer is killed', async () => {
  for (let round = 0; round < inLength(2, 20); round++) {
    const child = await startWriter();
    for (let read = 0; read < 40 * round; read++) await contentAt(ours, 128, 128);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const entries = await collect(tilesIn(ours, set, 8));
    expect(entries.length).toBeGreaterThan(0);
    for (const { x, y, bytes } of entries) {
      expect(await contentAt(ours, x, y)).toBe(Buffer.alloc(bytes, '0;').toString());
    }
    expect(sortedPages(await collect(ours.pages(set)))).toEqual(await recount(theirs, set));
    await ours.putMany(set, 8, [tile(127, 127, '0;')], 0);
  }
});
