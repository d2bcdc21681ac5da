import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TileIndex } from '../../src/domain/tile-key.ts';
import { blockAt } from '../../src/domain/tile-rect.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { TileStore, TileWrite } from '../../src/storage/tile-store.ts';
import { createSyntheticTiles, hash } from '../truncate/synthetic-tiles.ts';
import { type Figure, PAGE, thinTiles, ZOOM } from './thin-tiles.ts';

/**
 * A process of its own that measures the bundle store of a checkout: `measure-store.ts CHECKOUT ROOT SIDE THIN fill|empty`.
 * Prints one line of JSON: a `Figure` for each step.
 */
const METATILE = 4;
/** Tasks that write or read at the same time. */
const AT_ONCE = 4;
const HITS = 20_000;
const MAX_EVICTED = 300;

const [checkout = '', root = '', denseSide, thinSide, phase] = process.argv.slice(2);
const [side, thin] = [Number(denseSide), Number(thinSide)];
const figures: Figure[] = [];

function setOf(layer: string) {
  return { layer, gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
}

async function openStore(): Promise<TileStore> {
  const load = async <T>(path: string) => (await import(pathToFileURL(join(checkout, path)).href)) as T;
  const { openBundleStore } = await load<typeof import('../../src/storage/bundle/bundle-store.ts')>(
    'src/storage/bundle/bundle-store.ts',
  );
  const options = { maxOpenBundles: 256, sweepBytesPerSecond: 2 ** 29, minFreePercent: 2 };
  const tools = { root, log: silentLogger, clock: systemClock };
  return openBundleStore({ type: 'bundle', ...options }, tools);
}

/** Until the store is closed, which puts bundles to rest. Its writing thread runs before that. */
async function measure(
  step: string,
  things: number,
  work: (store: TileStore) => Promise<unknown>,
): Promise<void> {
  const store = await openStore();
  await store.raiseGeneration('none');
  const [before, begun] = [process.cpuUsage(), performance.now()];
  await work(store);
  await store.close();
  const { user, system } = process.cpuUsage(before);
  const wall = ((performance.now() - begun) * 1000) / things;
  figures.push({ step, processor: (user + system) / things, wall });
}

async function collectYielding<T>(things: Iterable<T>, work: (thing: T) => Promise<unknown>): Promise<void> {
  const waiting = things[Symbol.iterator]();
  const run = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}

function* metatiles(tileAt: (x: number, y: number) => TileWrite): Generator<readonly TileWrite[]> {
  for (let top = 0; top < side; top += METATILE) {
    for (let left = 0; left < side; left += METATILE) {
      yield Array.from({ length: METATILE ** 2 }, (_, at) =>
        tileAt(left + (at % METATILE), top + Math.floor(at / METATILE)),
      );
    }
  }
}

async function readHits(store: TileStore, layer: string, tiles: readonly TileIndex[]): Promise<void> {
  const set = setOf(layer);
  for (let hit = 0; hit < HITS; hit++) {
    const tile = tiles[hash(hit, 11) % tiles.length];
    if (tile && !(store.getNow?.(set, tile) ?? (await store.get(set, tile)))) throw new Error('no hit');
  }
}

function addDiskUse(layer: string, tiles: number): void {
  const names = readdirSync(join(root, 'layers'), { recursive: true, encoding: 'utf8' });
  const entries = names
    .filter((name) => name.startsWith(layer))
    .map((name) => statSync(join(root, 'layers', name)));
  const files = entries.filter((entry) => entry.isFile()).length;
  const bytes = entries.reduce((sum, { blocks }) => sum + blocks * 512, 0);
  figures.push({ step: `${layer}: files for 10⁶ tiles`, processor: (files * 1e6) / tiles, wall: null });
  figures.push({ step: `${layer}: bytes on disk a tile`, processor: bytes / tiles, wall: null });
}

async function fill(): Promise<void> {
  const tileAt = createSyntheticTiles();
  const sparse = thinTiles(thin);
  await measure('dense: write, a tile', side ** 2, (store) =>
    collectYielding(metatiles(tileAt), (tiles) => store.putMany(setOf('dense'), ZOOM, tiles, 0)),
  );
  await measure('thin: write, a tile', sparse.length, (store) =>
    collectYielding(sparse, ({ x, y }) => store.putMany(setOf('thin'), ZOOM, [tileAt(x, y)], 0)),
  );
  addDiskUse('dense', side ** 2);
  addDiskUse('thin', sparse.length);
  await measure('open and list all blocks', 1, async (store) => {
    for await (const { content } of (await store.blocks(null)).blocks)
      if (!content) throw new Error('a block is empty');
  });
  const dense = Array.from({ length: HITS }, (_, at) => ({
    z: ZOOM,
    x: hash(at, 1) % side,
    y: hash(at, 2) % side,
  }));
  await measure('dense: hit in the store', HITS, (store) => readHits(store, 'dense', dense));
  await measure('thin: hit in the store', HITS, (store) => readHits(store, 'thin', sparse));
}

async function empty(): Promise<void> {
  for (const [layer, square] of [
    ['dense', side],
    ['thin', thin],
  ] as const) {
    const set = setOf(layer);
    const evicted = thinTiles(square).slice(0, Math.min(MAX_EVICTED, (square / PAGE) ** 2 / 4));
    await measure(`${layer}: evict a page`, evicted.length, async (store) => {
      for (const { x, y } of evicted) {
        const page = blockAt(Math.floor(x / PAGE), Math.floor(y / PAGE), PAGE);
        await store.edit(set, ZOOM, page, { type: 'remove' });
      }
    });
    await measure(`${layer}: truncate a quarter`, 1, async (store) => {
      const [min, max] = [square / 4 + 5, (square * 3) / 4 + 4];
      const rect = { minX: min, minY: min, maxX: max, maxY: max };
      const before = await store.raiseGeneration(layer, [{ gridSet: set.gridSet, z: ZOOM, rect }]);
      await store.edit(set, ZOOM, rect, { type: 'remove', before });
    });
    await measure(`${layer}: truncate the layer`, 1, (store) => store.drop(layer, null));
  }
}

await (phase === 'fill' ? fill() : empty());
process.stdout.write(`${JSON.stringify(figures)}\n`);
