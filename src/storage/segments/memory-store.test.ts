import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { behavesAsTileStore } from '../../../test/contracts/tile-store.ts';
import { createMemoryStore } from './memory-store.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };
const tile = (x: number, bytes: number) => ({ x, y: 0, bytes: Buffer.alloc(bytes), createdAt: 1 });

describe('a memory store', () => {
  behavesAsTileStore({ open: async () => createMemoryStore({ type: 'memory' }), modelRuns: 200 });

  it('a memory store refuses tiles above its limit, and takes them when there is room again', async () => {
    const store = createMemoryStore({ type: 'memory', maxBytes: 100 });
    await store.put(set, 1, [tile(0, 60), tile(1, 40)], 0);
    await expect(store.put(set, 1, [tile(2, 1)], 0)).rejects.toMatchObject({ code: 'store-full' });
    await store.put(set, 1, [tile(0, 30)], 0);
    await store.put(set, 1, [tile(2, 30)], 0);
    await expect(store.put(set, 1, [tile(3, 1)], 0)).rejects.toMatchObject({ code: 'store-full' });
    await store.edit(set, 1, { minX: 0, minY: 0, maxX: 0, maxY: 0 }, { type: 'remove' });
    await store.put(set, 1, [tile(3, 1)], 0);
    expect(await store.get(set, { z: 1, x: 3, y: 0 })).not.toBeNull();
  });
});

it('requests for thousands of tile sets without tiles leave nothing in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const store = createMemoryStore({ type: 'memory' });
  const names = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png' };
  const heapAfter = (count: number) => {
    for (let value = 0; value < count; value++)
      void store.get({ ...names, parametersId: `${count} ${value}` }, { z: 0, x: 0, y: 0 });
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heapAfter(20_000);
  expect(heapAfter(100_000) - before).toBeLessThan(8_000_000);
});
