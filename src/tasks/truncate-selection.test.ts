import { describe, expect, it } from 'vitest';
import { layerWithDenseTiles } from '../../test/fixtures/pipeline-harness.ts';
import { fill, openTruncationFixture, setsOf, TILE } from '../../test/fixtures/task-fixture.ts';
import type { Bounds } from '../domain/bounds.ts';
import { presentTiles } from '../storage/read-tiles.ts';

describe('truncating a selection', () => {
  async function filled() {
    const opened = await openTruncationFixture();
    const { set } = opened.fixture.harness.tiles;
    const jpeg = { ...set, format: 'image/jpeg' };
    const tiles = [0, 15, 16, 40].map((x) => ({ x, y: 3, bytes: Buffer.alloc(100), createdAt: 1000 + x }));
    for (const key of [set, jpeg]) await opened.store.put(key, 6, tiles, 0);
    await opened.store.put(set, 7, tiles, 0);
    return { ...opened, set, jpeg };
  }

  it('truncating a selection refuses a grid set or format that never existed, and takes one no longer declared', async () => {
    const { store, selections, fixture } = await openTruncationFixture();
    const { set } = fixture.harness.tiles;
    await fill(store, set);
    await fill(store, { ...set, gridSet: 'yesterday' });
    const both = { gridSets: [set.gridSet, 'mars'] };
    for (const [selection, message] of [
      [both, `gridSets names mars, of which there are no tiles; the layer has ${set.gridSet}`],
      [
        { formats: ['image/pgn'] },
        'formats names image/pgn, of which there are no tiles; the layer has image/png',
      ],
    ] as const) {
      for (const verb of ['count', 'truncate'] as const) {
        await expect(selections[verb]('roads', selection)).rejects.toMatchObject({
          code: 'request-invalid',
          message: expect.stringContaining(message),
        });
      }
    }
    expect(await setsOf(store, 'roads')).toHaveLength(2);
    await selections.truncate('roads', { gridSets: ['yesterday'] });
    expect(await setsOf(store, 'roads')).toEqual([[set.gridSet, set.format, set.parametersId]]);
  });

  it('truncating a selection counts exactly what it would remove, and with a dry run removes nothing', async () => {
    const { store, selections, set, jpeg } = await filled();
    expect(await selections.count('roads', {})).toEqual(
      expect.arrayContaining([
        { set, tiles: 8, bytes: 800 },
        { set: jpeg, tiles: 4, bytes: 400 },
      ]),
    );
    expect(await selections.truncate('roads', { formats: ['image/jpeg'] })).toEqual([
      { set: jpeg, tiles: 4, bytes: 400 },
    ]);
    expect(await setsOf(store, 'roads')).toEqual([[set.gridSet, set.format, null]]);
  });

  it('truncating a selection narrows by zoom and by age', async () => {
    const { store, selections, set } = await filled();
    const selection = { formats: ['image/png'], zoomStart: 6, zoomStop: 6, olderThan: 1016 };
    for (const verb of ['count', 'truncate'] as const) {
      expect(await selections[verb]('roads', selection)).toEqual([{ set, tiles: 2, bytes: 200 }]);
    }
    const left = async (z: number) =>
      (await presentTiles(store, set, z, { minX: 0, minY: 0, maxX: 60, maxY: 60 }, 0)).map(({ x }) => x);
    expect(await left(6)).toEqual([16, 40]);
    expect(await left(7)).toEqual([0, 15, 16, 40]);
    expect(await store.marks('roads')).toBe(1);
  });

  it('truncating a selection looks only where it selects: nothing of the tile set is listed, and flights elsewhere go on', async () => {
    const { fixture, store, selections, set } = await filled();
    const listed = (): never => {
      throw new Error('the whole tile set was listed');
    };
    Object.assign(store, { tiles: listed, pages: listed });
    const { minX, minY, maxX, maxY } = fixture.harness.tiles.subset.extent;
    const bounds = { minX, minY, maxX: minX + (maxX - minX) / 64 - 1, maxY };
    const selection = { gridSets: [set.gridSet], bounds, zoomStart: 6, olderThan: 1010 };
    for (const verb of ['count', 'truncate'] as const) {
      const found = await selections[verb]('roads', selection);
      expect(found.reduce((sum, { tiles }) => sum + tiles, 0)).toBe(3);
    }
    const elsewhere = { ...TILE, x: 60, y: 3 };
    expect(await store.put(set, 6, [elsewhere], 0)).toMatchObject({ tiles: 1 });
    const within = store.put(set, 6, [{ ...TILE, x: 0, y: 3 }], 0);
    await expect(within).rejects.toMatchObject({ code: 'generation-stale' });
  });

  it('truncating a selection narrows by bounds', async () => {
    const { fixture, selections, set } = await filled();
    const { minX, minY, maxX, maxY } = fixture.harness.tiles.subset.extent;
    const bounds = { minX, minY, maxX: minX + (maxX - minX) / 4 - 1, maxY };
    const selection = { gridSets: [set.gridSet], formats: [set.format], zoomStop: 6, bounds };
    expect(await selections.truncate('roads', selection)).toEqual([{ set, tiles: 2, bytes: 200 }]);
    expect(await selections.truncate('roads', selection)).toEqual([]);
  });

  it('truncating a selection takes the dense tiles of a grid set along, and those alone when it names them', async () => {
    const { fixture, store, selections } = await openTruncationFixture(layerWithDenseTiles());
    const { set, subset } = fixture.harness.tiles;
    const dense = { ...set, gridSet: `${set.gridSet}@2x` };
    const selected = async (gridSet: string, bounds?: Bounds) => {
      const selection = { gridSets: [gridSet], ...(bounds && { bounds }) };
      const found = await selections.count('roads', selection);
      return found.map((one) => one.set.gridSet).sort();
    };
    for (const of of [set, dense]) await fill(store, of);
    for (const bounds of [undefined, subset.extent]) {
      expect(await selected(set.gridSet, bounds)).toEqual([set.gridSet, dense.gridSet]);
      expect(await selected(dense.gridSet, bounds)).toEqual([dense.gridSet]);
    }
    await selections.truncate('roads', { gridSets: [set.gridSet] });
    expect(await setsOf(store, 'roads')).toEqual([]);
  });

  it('truncating a selection takes dense tiles of yesterday along too, in the same places', async () => {
    const { fixture, store, selections } = await openTruncationFixture();
    const { set, subset } = fixture.harness.tiles;
    const dense = { ...set, gridSet: `${set.gridSet}@2x` };
    await fill(store, dense);
    const placed = { gridSets: [set.gridSet], bounds: subset.extent };
    expect(await selections.truncate('roads', placed)).toEqual([{ set: dense, tiles: 1, bytes: 3 }]);
    expect(await setsOf(store, 'roads')).toEqual([]);
  });

  it('truncating a selection narrows by a polygon, to the tiles it touches', async () => {
    const { fixture, store, selections, set } = await filled();
    const { minX, minY, maxX, maxY } = fixture.harness.tiles.subset.extent;
    const tile = (maxX - minX) / 64;
    const ring = [
      [minX, maxY - 3 * tile - 1],
      [minX + 15.5 * tile, maxY - 3 * tile - 1],
      [minX, minY],
    ] as const;
    const area = { polygons: [[ring]], crs: 'grid-set' as const };
    const selection = { gridSets: [set.gridSet], formats: [set.format], zoomStop: 6, area };
    for (const verb of ['count', 'truncate'] as const) {
      expect(await selections[verb]('roads', selection)).toEqual([{ set, tiles: 2, bytes: 200 }]);
    }
    const left = await presentTiles(store, set, 6, { minX: 0, minY: 0, maxX: 60, maxY: 60 }, 0);
    expect(left.map(({ x }) => x)).toEqual([16, 40]);
  });
});
