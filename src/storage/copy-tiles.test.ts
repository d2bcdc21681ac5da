import { describe, expect, it } from 'vitest';
import { collect, raise, tile, tilesIn } from '../../test/contracts/tile-store-tools.ts';
import { copyTiles } from './copy-tiles.ts';
import { tileSetsIn } from './read-tiles.ts';
import { createMemoryStore } from './segments/memory-store.ts';
import type { Store } from './store.ts';

const roads = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };
const rivers = { ...roads, layer: 'rivers' };
const open = () => createMemoryStore({ type: 'memory' });
const quietly = { layer: null, signal: new AbortController().signal, onProgress: () => {} };

async function contents(store: Store): Promise<string[]> {
  const found: string[] = [];
  for (const { set, z } of (await store.usage()).levels) {
    for (const { x, y } of await collect(tilesIn(store, set, z))) {
      const { bytes, createdAt, freshUntil, madeBy } = (await store.get(set, { z, x, y })) ?? {};
      found.push(`${set.layer} ${z}/${x}/${y} ${bytes} ${createdAt} ${freshUntil} ${madeBy}`);
    }
  }
  return found.sort();
}

async function filled(): Promise<Store> {
  const store = open();
  await store.put(
    roads,
    9,
    [{ ...tile(1, 2, 'a', 100), freshUntil: 900, madeBy: 7 }, tile(40, 2, 'b', 200)],
    0,
  );
  await store.put(rivers, 3, [tile(0, 0, 'c', 300)], 0);
  return store;
}

describe('copying a store', () => {
  it('copying a store brings every tile with its age, freshness and maker, and reports its progress', async () => {
    const [from, to] = [await filled(), open()];
    const seen: string[] = [];
    const onProgress = ({ tiles, expected }: { tiles: number; expected: number }) =>
      seen.push(`${tiles}/${expected}`);
    expect(await copyTiles({ ...quietly, from, to, onProgress })).toEqual({ tiles: 3, bytes: 3, present: 0 });
    expect(await contents(to)).toEqual(await contents(from));
    expect(seen.at(-1)).toBe('3/3');
  });

  it('copying a store again copies only tiles that were renewed since', async () => {
    const [from, to] = [await filled(), open()];
    await copyTiles({ ...quietly, from, to });
    expect(await copyTiles({ ...quietly, from, to })).toMatchObject({ tiles: 3, present: 3 });
    await from.put(roads, 9, [tile(1, 2, 'A', Date.now())], 0);
    expect(await copyTiles({ ...quietly, from, to })).toMatchObject({ tiles: 3, present: 2 });
    expect(await contents(to)).toEqual(await contents(from));
  });

  it('copying a store removes nothing from its target, also when the source has been emptied', async () => {
    const [from, to] = [await filled(), open()];
    await to.put({ ...roads, layer: 'satellite' }, 4, [tile(1, 1, 's', 50)], 0);
    await copyTiles({ ...quietly, from, to });
    const copied = await contents(to);
    expect(copied).toHaveLength(4);
    await from.drop('roads', null);
    await from.drop('rivers', null);
    expect(await copyTiles({ ...quietly, from, to })).toMatchObject({ tiles: 0 });
    expect(await contents(to)).toEqual(copied);
  });

  it('copying a store is limited to one layer when one is named', async () => {
    const [from, to] = [await filled(), open()];
    await copyTiles({ ...quietly, from, to, layer: 'rivers' });
    expect((await tileSetsIn(to, null)).map(({ layer }) => layer)).toEqual(['rivers']);
  });

  it('copying a store does not bring back tiles that are truncated while it reads them', async () => {
    const [from, to] = [await filled(), open()];
    let truncated = false;
    const get: Store['get'] = async (set, ...rest) => {
      const found = await from.get(set, ...rest);
      if (set.layer === 'rivers' && !truncated) {
        truncated = true;
        for (const store of [from, to]) {
          await raise(store, 'rivers');
          await store.drop('rivers', null);
        }
      }
      return found;
    };
    await copyTiles({ ...quietly, from: { ...from, get }, to });
    expect((await tileSetsIn(to, null)).map(({ layer }) => layer)).toEqual(['roads']);
  });

  it('copying a store fails when a tile read back differs from the written one', async () => {
    const [from, to] = [await filled(), open()];
    const get: Store['get'] = async (set, place) => {
      const found = await to.get(set, place);
      return found && { ...found, bytes: Buffer.from('other') };
    };
    await expect(copyTiles({ ...quietly, from, to: { ...to, get } })).rejects.toMatchObject({
      code: 'store-failed',
    });
  });

  it('a copy that is aborted stops, and the next one continues from there', async () => {
    const [from, to] = [await filled(), open()];
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error('enough'));
    await expect(copyTiles({ ...quietly, from, to, signal: stop.signal, onProgress })).rejects.toThrow(
      'enough',
    );
    expect(await copyTiles({ ...quietly, from, to })).toMatchObject({ tiles: 3, present: 1 });
  });
});
