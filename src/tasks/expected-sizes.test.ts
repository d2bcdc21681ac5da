import { expect, it } from 'vitest';
import type { Store, StoreChange } from '../storage/store.ts';
import type { ZoomEstimate } from './estimate-task.ts';
import { expectedSizes } from './estimate-task.ts';

const SET = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

/** Stored tiles by zoom. */
function storeOf(stored: Readonly<Record<number, StoreChange>>): Store {
  const levels = Object.entries(stored).map(([z, amount]) => ({ set: SET, z: Number(z), ...amount }));
  return { usage: async () => ({ levels }) } as unknown as Store;
}

function zoom(z: number, tiles: number, cached: Partial<StoreChange> = {}): ZoomEstimate {
  const figures = { metatiles: 0n, staleTiles: 0n };
  const { tiles: cachedTiles = 0, bytes: cachedBytes = 0 } = cached;
  return {
    ...figures,
    z,
    tiles: BigInt(tiles),
    cachedTiles: BigInt(cachedTiles),
    cachedBytes: BigInt(cachedBytes),
  };
}

it('a few large tiles of one zoom give a wide range for the others, down to blank tiles', async () => {
  const few = { tiles: 5, bytes: 5 * 40_000 };
  const sizes = await expectedSizes(storeOf({ 1: few }), [SET], [zoom(1, 5, few), zoom(9, 1000)]);
  expect(sizes.addedBytes).toEqual({ least: 300_000n, most: 40_000_000n });
});

it('a zoom with enough tiles adds what its own mean says, whatever other zooms have', async () => {
  const [low, deep] = [
    { tiles: 4, bytes: 4 * 40_000 },
    { tiles: 100, bytes: 100 * 1500 },
  ];
  const sizes = await expectedSizes(storeOf({ 1: low, 9: deep }), [SET], [zoom(9, 1000, deep)]);
  expect(sizes).toEqual({ bytes: 1_500_000n, addedBytes: { least: 1_350_000n, most: 1_350_000n } });
});

it('zooms without tiles are estimated by those of other zooms, and not at all without any', async () => {
  const elsewhere = storeOf({ 3: { tiles: 64, bytes: 64 * 2000 } });
  expect((await expectedSizes(elsewhere, [SET], [zoom(9, 10)])).addedBytes).toEqual({
    least: 3000n,
    most: 20_000n,
  });
  expect(await expectedSizes(storeOf({}), [SET], [zoom(9, 10)])).toEqual({ bytes: null, addedBytes: null });
});
