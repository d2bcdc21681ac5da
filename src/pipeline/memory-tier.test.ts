import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { StoredTile } from '../storage/store.ts';
import { MemoryTier } from './memory-tier.ts';

const set: TileSetKey = { layer: 'a', gridSet: 'g', format: 'image/png', parametersId: null };
const OVERHEAD = 1024;

function stored(length: number, createdAt = 0): StoredTile {
  return { bytes: Buffer.alloc(length), createdAt, freshUntil: null, madeBy: null, checksum: length };
}

const at = (x: number, y = 0, z = 3) => ({ z, x, y });

describe('the memory tier', () => {
  it('the memory tier drops the least recently used tiles when its bytes pass the bound', () => {
    const tier = new MemoryTier(3 * (100 + OVERHEAD));
    for (const x of [0, 1, 2]) tier.put(set, at(x), stored(100));
    tier.get(set, at(0));
    tier.put(set, at(3), stored(100));
    expect([0, 1, 2, 3].map((x) => tier.has(set, at(x)))).toEqual([true, false, true, true]);
    expect(tier.bytes).toBeLessThanOrEqual(3 * (100 + OVERHEAD));
  });

  it('the memory tier has no tile that alone passes the bound, and none at all with a bound of 0', () => {
    const small = new MemoryTier(1000);
    small.put(set, at(0), stored(1000));
    const none = new MemoryTier(0);
    none.put(set, at(0), stored(1));
    expect([small.tiles, none.tiles]).toEqual([0, 0]);
  });

  it('the memory tier holds no more memory than the bytes of a tile that is a part of a larger buffer', () => {
    const tier = new MemoryTier(100_000);
    const bytes = Buffer.alloc(8192, 7).subarray(4000, 4100);
    tier.put(set, at(0), { ...stored(0), bytes });
    const held = tier.get(set, at(0))?.bytes;
    expect(held).toEqual(bytes);
    expect(held?.buffer.byteLength).toBe(100);
  });

  it('the memory tier replaces a tile and counts it once', () => {
    const tier = new MemoryTier(10_000);
    tier.put(set, at(0), stored(100, 1));
    tier.put(set, at(0), stored(50, 2));
    expect(tier.get(set, at(0))?.createdAt).toBe(2);
    expect([tier.tiles, tier.bytes]).toEqual([1, 50 + OVERHEAD]);
  });

  it('the memory tier keeps tile sets, zooms and far places separate', () => {
    const tier = new MemoryTier(100_000);
    const other = { ...set, parametersId: 'p' };
    const far = 2 ** 30 - 1;
    const places = [
      at(1, 2),
      at(2, 1),
      at(1, 2, 4),
      at(far, far, 30),
      at(far, far - 1, 30),
      at(2 ** 26, 0, 30),
    ];
    for (const [i, tile] of places.entries()) tier.put(set, tile, stored(i + 1));
    expect(places.map((tile) => tier.get(set, tile)?.checksum)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(tier.get(other, at(1, 2))).toBeNull();
    expect(tier.get({ ...set }, at(1, 2))?.checksum).toBe(1);
  });

  it('the memory tier keeps tiles that were read beside another, unless some were dropped or replaced since', () => {
    const tier = new MemoryTier(100_000);
    const beside = [1, 2].map((x) => ({ tile: at(x), stored: stored(100, 1) }));
    tier.put(set, at(2), stored(100, 9));
    tier.endLoad(tier.beginLoad(set, at(0)), stored(100, 1), beside);
    expect([0, 1, 2].map((x) => tier.get(set, at(x))?.createdAt)).toEqual([1, 1, 9]);
    const late = tier.beginLoad(set, at(0));
    tier.drop(set, 3, { minX: 1, minY: 0, maxX: 2, maxY: 0 });
    tier.endLoad(late, stored(100, 1), beside);
    expect([0, 1, 2].map((x) => tier.has(set, at(x)))).toEqual([true, false, false]);
  });

  it('the memory tier drops a block, or a whole layer and no other', () => {
    const tier = new MemoryTier(100_000);
    const other = { ...set, layer: 'b' };
    for (const x of [0, 1, 2, 3]) tier.put(set, at(x), stored(1));
    tier.put(other, at(0), stored(1));
    tier.drop(set, 3, { minX: 1, minY: 0, maxX: 2, maxY: 5000 });
    expect([0, 1, 2, 3].map((x) => tier.has(set, at(x)))).toEqual([true, false, false, true]);
    tier.dropLayer('a');
    expect([tier.tiles, tier.has(other, at(0))]).toEqual([1, true]);
    tier.dropLayer('b');
    expect(tier.bytes).toBe(0);
  });

  it('the memory tier drops the tiles of a place in all tile sets of its layer', () => {
    const tier = new MemoryTier(100_000);
    const sets = [set, { ...set, parametersId: 'night' }, { ...set, gridSet: 'h' }, { ...set, layer: 'b' }];
    for (const one of sets) for (const x of [0, 1]) tier.put(one, at(x), stored(10));
    tier.dropPlace('a', { gridSet: 'g', z: 3, rect: { minX: 1, minY: 0, maxX: 1, maxY: 0 } });
    expect(sets.map((one) => [0, 1].map((x) => tier.has(one, at(x))))).toEqual([
      [true, false],
      [true, false],
      [true, true],
      [true, true],
    ]);
  });

  it('the memory tier does not keep a tile that was read before it was dropped', () => {
    const tier = new MemoryTier(100_000);
    const [early, elsewhere] = [tier.beginLoad(set, at(0)), tier.beginLoad(set, at(9))];
    tier.drop(set, 3, { minX: 0, minY: 0, maxX: 3, maxY: 3 });
    tier.endLoad(early, stored(1));
    tier.endLoad(elsewhere, stored(1));
    expect([tier.has(set, at(0)), tier.has(set, at(9))]).toEqual([false, true]);
    const late = tier.beginLoad(set, at(0));
    tier.dropLayer('a');
    tier.endLoad(late, stored(1));
    expect(tier.has(set, at(0))).toBe(false);
  });

  it('the memory tier does not let an older read undo a newer tile', () => {
    const tier = new MemoryTier(100_000);
    const look = tier.beginLoad(set, at(0));
    tier.put(set, at(0), stored(1, 2));
    tier.endLoad(look, stored(1, 1));
    expect(tier.get(set, at(0))?.createdAt).toBe(2);
  });

  it('the memory tier behaves like a plain list of the most recently used, whatever is done to it', () => {
    const place = fc.record({ layer: fc.constantFrom('a', 'b'), x: fc.nat(5), z: fc.constantFrom(3, 4) });
    const step = fc.oneof(
      fc.record({ do: fc.constant('put' as const), place, size: fc.integer({ min: 1, max: 900 }) }),
      fc.record({ do: fc.constant('get' as const), place }),
      fc.record({ do: fc.constant('drop' as const), place }),
      fc.record({ do: fc.constant('dropLayer' as const), place }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const bound = 6000;
        const tier = new MemoryTier(bound);
        let model: { id: string; layer: string; cost: number }[] = [];
        for (const action of steps) {
          const { layer, x, z } = action.place;
          const key = { ...set, layer };
          const id = `${layer} ${z} ${x}`;
          const known = model.find((entry) => entry.id === id);
          if (action.do === 'get') {
            expect(tier.get(key, at(x, 0, z)) !== null).toBe(known !== undefined);
            if (known) model = [known, ...model.filter((entry) => entry !== known)];
          }
          if (action.do === 'put') {
            tier.put(key, at(x, 0, z), stored(action.size));
            model = [
              { id, layer, cost: action.size + OVERHEAD },
              ...model.filter((entry) => entry !== known),
            ];
            while (model.reduce((sum, { cost }) => sum + cost, 0) > bound) model.pop();
          }
          if (action.do === 'drop') {
            tier.drop(key, z, { minX: x, minY: 0, maxX: x + 1, maxY: 0 });
            model = model.filter((entry) => entry.id !== id && entry.id !== `${layer} ${z} ${x + 1}`);
          }
          if (action.do === 'dropLayer') {
            tier.dropLayer(layer);
            model = model.filter((entry) => entry.layer !== layer);
          }
          expect(tier.tiles).toBe(model.length);
          expect(tier.bytes).toBe(model.reduce((sum, { cost }) => sum + cost, 0));
        }
      }),
    );
  });
});
