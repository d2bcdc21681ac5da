// A process that measures the store of a checkout: `measure-store.ts CHECKOUT ROOT SIDE THIN fill|empty`. Prints one line of JSON: a `Figure` for each step.
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TileIndex } from '../../src/domain/tile-key.ts';
import { blockAt, rectOfTile } from '../../src/domain/tile-rect.ts';
import { readNow } from '../../src/storage/read-tiles.ts';
import type { MarkChange, Raise, Store } from '../../src/storage/store.ts';
import {
  createSyntheticTiles,
  hash,
  openTiles,
  squares,
  tileSet,
  writeTiles,
} from '../harness/tile-store.ts';
import { type Figure, PAGE, thinTiles, ZOOM } from './thin-tiles.ts';

const METATILE = 4;
const HITS = 20_000;
const MARKS = 10_000;
const MAX_EVICTED = 300;

const [checkout = '', root = '', denseSide, thinSide, phase] = process.argv.slice(2);
const [side, thin] = [Number(denseSide), Number(thinSide)];
const figures: Figure[] = [];

/** Including the end of the store; without the start of its writing thread. */
async function measure(step: string, count: number, work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openTiles(root, checkout);
  await raise(store, 'none', null);
  const [before, start] = [process.cpuUsage(), performance.now()];
  await work(store);
  await store.close();
  const { user, system } = process.cpuUsage(before);
  const wall = ((performance.now() - start) * 1000) / count;
  figures.push({ step, processor: (user + system) / count, wall });
}

async function readHits(store: Store, layer: string, tiles: readonly TileIndex[]): Promise<void> {
  const set = tileSet(layer);
  for (let hit = 0; hit < HITS; hit++) {
    const tile = tiles[hash(hit, 11) % tiles.length];
    if (tile && !(readNow(store, set, tile) ?? (await store.get(set, tile)))) throw new Error('no hit');
  }
}

/** Files and bytes on disk, index and all. */
function diskUse(): { readonly files: number; readonly bytes: number } {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const entries = names.map((name) => statSync(join(root, name)));
  const bytes = entries.reduce((sum, { blocks }) => sum + blocks * 512, 0);
  return { files: entries.filter((entry) => entry.isFile()).length, bytes };
}

function addDiskUse(layer: string, tiles: number, before: ReturnType<typeof diskUse>): void {
  const { files, bytes } = diskUse();
  const each = (value: number) => value / tiles;
  figures.push({
    step: `${layer}: files for 10⁶ tiles`,
    processor: each((files - before.files) * 1e6),
    wall: null,
  });
  figures.push({ step: `${layer}: bytes on disk a tile`, processor: each(bytes - before.bytes), wall: null });
}

async function fill(): Promise<void> {
  const tileAt = createSyntheticTiles();
  const sparse = thinTiles(thin);
  mkdirSync(root, { recursive: true });
  const before = diskUse();
  await measure('dense: write, a tile', side ** 2, (store) =>
    writeTiles(store, 'dense', ZOOM, squares(side, METATILE)),
  );
  addDiskUse('dense', side ** 2, before);
  const between = diskUse();
  const singles = sparse.map(({ x, y }) => [tileAt(x, y)]);
  await measure('thin: write, a tile', sparse.length, (store) => writeTiles(store, 'thin', ZOOM, singles));
  addDiskUse('thin', sparse.length, between);
  await measure('open and usage', 1, async (store) => void (await store.usage()));
  const dense = Array.from({ length: HITS }, (_, at) => ({
    z: ZOOM,
    x: hash(at, 1) % side,
    y: hash(at, 2) % side,
  }));
  await measure('dense: hit in the store', HITS, (store) => readHits(store, 'dense', dense));
  const readThin = (store: Store) => readHits(store, 'thin', sparse);
  await measure('thin: hit in the store', HITS, readThin);
  await withMarks('thin', sparse, () => measure(`thin: hit, ${MARKS} open marks`, HITS, readThin));
}

/** Each at the place of a tile, which it does not mean because of its age. */
async function withMarks(
  layer: string,
  tiles: readonly TileIndex[],
  work: () => Promise<void>,
): Promise<void> {
  const { gridSet } = tileSet(layer);
  const effect = { type: 'hide', at: 0, createdBefore: 0 } as const;
  const raises = Array.from({ length: MARKS }, (_, at): Raise => {
    const { z, x, y } = tiles[at % tiles.length] ?? { z: 0, x: 0, y: 0 };
    return { layer, places: [{ gridSet, z, rect: rectOfTile({ x, y }) }], effect };
  });
  const change = async (change: MarkChange) => {
    const store = await openTiles(root, checkout);
    const numbers = await store.mark(change);
    await store.close();
    return numbers;
  };
  const numbers = await change({ type: 'raise', raises });
  await work();
  await change({ type: 'close', numbers });
}

async function raise(store: Store, layer: string, places: Raise['places']): Promise<number> {
  return (await store.mark({ type: 'raise', raises: [{ layer, places, effect: null }] }))[0] ?? 0;
}

async function empty(): Promise<void> {
  for (const [layer, square] of [
    ['dense', side],
    ['thin', thin],
  ] as const) {
    const set = tileSet(layer);
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
      const before = await raise(store, layer, [{ gridSet: set.gridSet, z: ZOOM, rect }]);
      await store.edit(set, ZOOM, rect, { type: 'remove', before });
    });
    await measure(`${layer}: truncate the layer`, 1, (store) => store.drop(layer, null));
  }
}

await (phase === 'fill' ? fill() : empty());
process.stdout.write(`${JSON.stringify(figures)}\n`);
