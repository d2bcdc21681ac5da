import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openTaskHouse, type TaskHouse } from '../../test/fixtures/task-house.ts';
import { createGate, layerWithDenseTiles, until } from '../../test/fixtures/tile-road.ts';
import type { Bounds } from '../domain/bounds.ts';
import { formatOf } from '../domain/format.ts';
import type { Layer } from '../domain/layer.ts';
import {
  createFixedValuesFilter,
  createRegexFilter,
  parametersIdOf,
  selectParameters,
} from '../domain/parameter-filter.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openBundleStore } from '../storage/bundle/bundle-store.ts';
import { bundleStoreOptions } from '../storage/bundle/bundle-store-options.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { createMassTruncation, type MassTruncation } from './mass-truncation.ts';
import type { TaskSettings } from './task-settings.ts';

const closers: (() => unknown)[] = [];
/** Parameter values by id, as a book would know them. */
const noted = new Map<string, ReadonlyMap<string, string>>();

afterEach(async () => {
  noted.clear();
  for (const close of closers.splice(0).reverse()) await close();
});

interface Cleared {
  readonly house: TaskHouse;
  readonly store: TileStore;
  readonly truncation: MassTruncation;
}

const STYLES = createFixedValuesFilter({ name: 'STYLES', defaultValue: 'light', values: ['light', 'dark'] });

async function open(layer: Partial<Layer> = {}, tasks: Partial<TaskSettings> = {}): Promise<Cleared> {
  const root = mkdtempSync(join(tmpdir(), 'tilewarden-mass-'));
  closers.push(() => rmSync(root, { recursive: true, force: true }));
  const options = bundleStoreOptions.parse({ type: 'bundle' });
  const store = await openBundleStore(options, { root, log: silentLogger, clock: systemClock });
  closers.push(() => store.close());
  const house = await openTaskHouse({ store, tasks, layer: { parameters: [STYLES], ...layer } });
  closers.push(() => house.close());
  const { bound } = house.road.tiles;
  const truncation = createMassTruncation({
    catalog: {
      layer: (name) => (name === bound.layer.name ? bound : null),
      layerNames: () => [bound.layer.name],
      stores: () => new Map([['default', store]]),
    },
    parameters: { values: async () => noted },
    pipeline: house.road.pipeline,
    tasks: house.service,
    events: { emit: house.road.emit, subscribe: () => () => {} },
    clock: systemClock,
  });
  return { house, store, truncation };
}

const TILE = { x: 0, y: 0, bytes: Buffer.from('old'), createdAt: 1 };

async function fill(store: TileStore, set: TileSetKey, z = 1): Promise<void> {
  await store.putMany(set, z, [TILE], await store.generation(set.layer));
}

async function setsOf(store: TileStore, layer: string): Promise<readonly (string | null)[][]> {
  const found: (string | null)[][] = [];
  for await (const set of store.tileSets(layer)) found.push([set.gridSet, set.format, set.parametersId]);
  return found.sort();
}

const dark = selectParameters([STYLES], new Map([['STYLES', 'dark']])).id;

describe('truncating a layer', () => {
  it('clears every grid set, format and combination of parameters, and nothing of other layers', async () => {
    const { house, store, truncation } = await open();
    const { set } = house.road.tiles;
    const gone = [
      set,
      { ...set, gridSet: 'of yesterday' },
      { ...set, format: 'image/gif' },
      { ...set, parametersId: 'a'.repeat(40) },
    ];
    for (const key of gone) await fill(store, key);
    await fill(store, { ...set, layer: 'other' });
    await truncation.truncateLayer('roads');
    expect(await setsOf(store, 'roads')).toEqual([]);
    expect(await setsOf(store, 'other')).toHaveLength(1);
    await truncation.truncateLayer('roads');
    await expect(truncation.truncateLayer('nowhere')).rejects.toMatchObject({ code: 'layer-unknown' });
  });

  it('lets go of tiles in memory, and keeps out what was being fetched', async () => {
    const { house, store, truncation } = await open();
    const { road } = house;
    await road.read(2, 0, 0);
    const gate = createGate();
    road.source.answer = async (request) => {
      const answer = road.source.draw(request);
      await gate.opened;
      return answer;
    };
    const fetched = road.read(3, 7, 7);
    await until(() => road.source.requests.length === 2);
    await truncation.truncateLayer('roads');
    gate.open();
    await fetched;
    expect(await store.get(road.tiles.set, { z: 3, x: 7, y: 7 })).toBeNull();
    road.source.version = 2;
    road.source.answer = (request) => road.source.draw(request);
    for (const tile of [
      { z: 2, x: 0, y: 0 },
      { z: 3, x: 7, y: 7 },
    ]) {
      expect(await road.shows((await road.read(tile.z, tile.x, tile.y)).bytes, tile, 2)).toBe(true);
    }
  });

  it('lets a running seed go on and fill the emptied cache', async () => {
    const { house, store, truncation } = await open();
    const { road, service, ended } = house;
    let requests = 0;
    road.source.answer = async (request) => {
      requests++;
      if (requests === 4) {
        await truncation.truncateLayer('roads');
        road.source.version = 2;
      }
      return road.source.draw(request);
    };
    const { id } = await service.create({ layer: 'roads', zoomStart: 4, zoomStop: 4, threadCount: 1 }, 'me');
    expect(await ended(id)).toMatchObject({ state: 'done', tilesProcessed: 256n });
    let kept = 0;
    for await (const { x, y } of store.tiles(road.tiles.set, 4)) {
      const tile = await store.get(road.tiles.set, { z: 4, x, y });
      expect(tile && (await road.shows(tile.bytes, { z: 4, x, y }, 2))).toBe(true);
      kept++;
    }
    expect(kept).toBe(256 - 3 * 16);
  });
});

it('clears every layer, also those that nobody declares any more', async () => {
  const { house, store, truncation } = await open();
  const { set } = house.road.tiles;
  await fill(store, set);
  await fill(store, { ...set, layer: 'forgotten' });
  expect((await truncation.truncateAll()).toSorted()).toEqual(['forgotten', 'roads']);
  expect([...(await setsOf(store, 'roads')), ...(await setsOf(store, 'forgotten'))]).toEqual([]);
});

it('clears many layers side by side, and never more than some at once', async () => {
  const { store, truncation } = await open();
  const { dropLayer } = store;
  let [now, most] = [0, 0];
  Object.assign(store, {
    async dropLayer(layer: string) {
      most = Math.max(most, ++now);
      await dropLayer(layer);
      now--;
    },
    async *layers() {
      for (let i = 0; i < 40; i++) yield `layer ${i}`;
    },
  });
  expect(await truncation.truncateAll()).toHaveLength(41);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(32);
});

it('clears one combination of parameters over all grid sets and formats', async () => {
  const { house, store, truncation } = await open();
  const { set } = house.road.tiles;
  const darkSets = [
    { ...set, parametersId: dark },
    { ...set, parametersId: dark, gridSet: 'another' },
  ];
  for (const key of [set, ...darkSets]) await fill(store, key);
  await truncation.truncateParameters('roads', new Map([['styles', 'dark']]));
  expect(await setsOf(store, 'roads')).toEqual([[set.gridSet, set.format, null]]);
  await truncation.truncateParameters('roads', new Map());
  expect(await setsOf(store, 'roads')).toEqual([]);
});

describe('truncating orphans', () => {
  it('clears what the layer could not produce any more, and keeps the rest', async () => {
    const { house, store, truncation } = await open();
    const { set } = house.road.tiles;
    const kept = [set, { ...set, parametersId: dark }];
    const orphans = [
      { ...set, gridSet: 'x' },
      { ...set, format: 'image/gif' },
      { ...set, parametersId: 'f'.repeat(40) },
    ];
    for (const key of [...kept, ...orphans]) await fill(store, key);
    await fill(store, set, 29);
    await truncation.truncateOrphans('roads');
    expect(await setsOf(store, 'roads')).toEqual(
      kept.map((key) => [key.gridSet, key.format, key.parametersId]).sort(),
    );
    expect(await store.get(set, { z: 29, x: 0, y: 0 })).toBeNull();
    expect(await store.get(set, { z: 1, x: 0, y: 0 })).not.toBeNull();
  });

  it('leaves combinations alone that cannot be listed and were not noted', async () => {
    const filter = createRegexFilter({ name: 'CQL_FILTER', defaultValue: '', regex: '.*' });
    const { house, store, truncation } = await open({ parameters: [filter] });
    await fill(store, { ...house.road.tiles.set, parametersId: 'e'.repeat(40) });
    await truncation.truncateOrphans('roads');
    expect(await setsOf(store, 'roads')).toHaveLength(1);
  });

  it('judges combinations that were noted by the filters of today', async () => {
    const filter = createRegexFilter({ name: 'CQL_FILTER', defaultValue: '', regex: '[A-Z]+ > [0-9]+' });
    const { house, store, truncation } = await open({ parameters: [filter] });
    const { set } = house.road.tiles;
    const values = [{ CQL_FILTER: 'POP > 5' }, { CQL_FILTER: 'pop < 5' }, { STYLES: 'dark' }];
    const ids = values.map((one) => {
      const map = new Map(Object.entries(one));
      noted.set(parametersIdOf(map), map);
      return parametersIdOf(map);
    });
    for (const parametersId of ids) await fill(store, { ...set, parametersId });
    await truncation.truncateOrphans('roads');
    expect(await setsOf(store, 'roads')).toEqual([[set.gridSet, set.format, ids[0]]]);
  });
});

it('truncates an extent as one task over each format and cached combination, also where no further one is allowed', async () => {
  const png = formatOf('image/png');
  const jpeg = formatOf('image/jpeg');
  if (!png || !jpeg) throw new Error('formats');
  const { house, store, truncation } = await open({ formats: [png, jpeg] }, { maxUnfinished: 1 });
  const { set, subset } = house.road.tiles;
  const unlisted = { ...set, parametersId: 'b'.repeat(40) };
  const jpegs = { ...set, format: 'image/jpeg', parametersId: dark };
  for (const key of [set, { ...set, parametersId: dark }, unlisted, jpegs]) await fill(store, key);
  const { minX, minY, maxX, maxY } = subset.extent;
  const coords = [minX, minY, maxX, maxY];
  const extent = { layer: 'roads', gridSetId: set.gridSet, coords };
  await house.road.read(1, 0, 0);
  const { id } = await truncation.truncateExtent(extent, 'me');
  expect(await house.ended(id)).toMatchObject({
    state: 'done',
    request: { format: '*' },
    counters: { removed: 4 },
  });
  expect((await house.road.read(1, 0, 0)).outcome).toBe('MISS');
  await truncation.truncateLayer('roads');
  expect(await setsOf(store, 'roads')).toEqual([]);
});

it('truncates the dense tiles of an extent along with the others', async () => {
  const { house, store, truncation } = await open({ ...layerWithDenseTiles(), parameters: [] });
  const { set, subset } = house.road.tiles;
  const dense = { ...set, gridSet: `${set.gridSet}@2x` };
  const unnamed = { ...dense, parametersId: 'a'.repeat(40) };
  for (const of of [set, dense, unnamed]) await fill(store, of);
  const { minX, minY, maxX, maxY } = subset.extent;
  const extent = { layer: 'roads', gridSetId: set.gridSet, coords: [minX, minY, maxX, maxY] };
  const { id } = await truncation.truncateExtent(extent, 'me');
  expect(await house.ended(id)).toMatchObject({ state: 'done' });
  expect(await setsOf(store, 'roads')).toEqual([]);
});

describe('truncating a selection', () => {
  async function filled() {
    const opened = await open();
    const { set } = opened.house.road.tiles;
    const jpeg = { ...set, format: 'image/jpeg' };
    const tiles = [0, 15, 16, 40].map((x) => ({ x, y: 3, bytes: Buffer.alloc(100), createdAt: 1000 + x }));
    for (const key of [set, jpeg]) await opened.store.putMany(key, 6, tiles, 0);
    await opened.store.putMany(set, 7, tiles, 0);
    return { ...opened, set, jpeg };
  }

  it('refuses a grid set or format that there never was, and takes one that is no longer declared', async () => {
    const { store, truncation, house } = await open();
    const { set } = house.road.tiles;
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
      for (const dryRun of [true, false]) {
        await expect(truncation.truncateSelection('roads', selection, dryRun)).rejects.toMatchObject({
          code: 'request-invalid',
          message: expect.stringContaining(message),
        });
      }
    }
    expect(await setsOf(store, 'roads')).toHaveLength(2);
    await truncation.truncateSelection('roads', { gridSets: ['yesterday'] }, false);
    expect(await setsOf(store, 'roads')).toEqual([[set.gridSet, set.format, set.parametersId]]);
  });

  it('counts exactly what it would remove, and with a dry run removes nothing', async () => {
    const { store, truncation, set, jpeg } = await filled();
    expect(await truncation.truncateSelection('roads', {}, true)).toEqual(
      expect.arrayContaining([
        { set, tiles: 8, bytes: 800 },
        { set: jpeg, tiles: 4, bytes: 400 },
      ]),
    );
    expect(await truncation.truncateSelection('roads', { formats: ['image/jpeg'] }, false)).toEqual([
      { set: jpeg, tiles: 4, bytes: 400 },
    ]);
    expect(await setsOf(store, 'roads')).toEqual([[set.gridSet, set.format, null]]);
  });

  it('narrows by zoom and by age', async () => {
    const { store, truncation, set } = await filled();
    const selection = { formats: ['image/png'], zoomStart: 6, zoomStop: 6, olderThan: 1016 };
    for (const dryRun of [true, false]) {
      expect(await truncation.truncateSelection('roads', selection, dryRun)).toEqual([
        { set, tiles: 2, bytes: 200 },
      ]);
    }
    const left = async (z: number) =>
      (await store.present(set, z, { minX: 0, minY: 0, maxX: 60, maxY: 60 }, 0)).map(({ x }) => x);
    expect(await left(6)).toEqual([16, 40]);
    expect(await left(7)).toEqual([0, 15, 16, 40]);
    expect(await store.generation('roads')).toBe(1);
  });

  it('looks only where it selects: nothing of the tile set is listed, and flights elsewhere go on', async () => {
    const { house, store, truncation, set } = await filled();
    const listed = (): never => {
      throw new Error('the whole tile set was listed');
    };
    Object.assign(store, { tiles: listed, pages: listed });
    const { minX, minY, maxX, maxY } = house.road.tiles.subset.extent;
    const bounds = { minX, minY, maxX: minX + (maxX - minX) / 64 - 1, maxY };
    const selection = { gridSets: [set.gridSet], bounds, zoomStart: 6, olderThan: 1010 };
    for (const dryRun of [true, false]) {
      const found = await truncation.truncateSelection('roads', selection, dryRun);
      expect(found.reduce((sum, { tiles }) => sum + tiles, 0)).toBe(3);
    }
    const elsewhere = { ...TILE, x: 60, y: 3 };
    expect(await store.putMany(set, 6, [elsewhere], 0)).toMatchObject({ tiles: 1 });
    const within = store.putMany(set, 6, [{ ...TILE, x: 0, y: 3 }], 0);
    await expect(within).rejects.toMatchObject({ code: 'generation-stale' });
  });

  it('narrows by bounds', async () => {
    const { house, truncation, set } = await filled();
    const { minX, minY, maxX, maxY } = house.road.tiles.subset.extent;
    const bounds = { minX, minY, maxX: minX + (maxX - minX) / 4 - 1, maxY };
    const selection = { gridSets: [set.gridSet], formats: [set.format], zoomStop: 6, bounds };
    expect(await truncation.truncateSelection('roads', selection, false)).toEqual([
      { set, tiles: 2, bytes: 200 },
    ]);
    expect(await truncation.truncateSelection('roads', selection, false)).toEqual([]);
  });

  it('takes the dense tiles of a grid set along, and those alone when it names them', async () => {
    const { house, store, truncation } = await open(layerWithDenseTiles());
    const { set, subset } = house.road.tiles;
    const dense = { ...set, gridSet: `${set.gridSet}@2x` };
    const selected = async (gridSet: string, bounds?: Bounds) => {
      const selection = { gridSets: [gridSet], ...(bounds && { bounds }) };
      const found = await truncation.truncateSelection('roads', selection, true);
      return found.map((one) => one.set.gridSet).sort();
    };
    for (const of of [set, dense]) await fill(store, of);
    for (const bounds of [undefined, subset.extent]) {
      expect(await selected(set.gridSet, bounds)).toEqual([set.gridSet, dense.gridSet]);
      expect(await selected(dense.gridSet, bounds)).toEqual([dense.gridSet]);
    }
    await truncation.truncateSelection('roads', { gridSets: [set.gridSet] }, false);
    expect(await setsOf(store, 'roads')).toEqual([]);
  });

  it('takes dense tiles of yesterday along too, but finds no place for them', async () => {
    const { house, store, truncation } = await open();
    const { set, subset } = house.road.tiles;
    const dense = { ...set, gridSet: `${set.gridSet}@2x` };
    await fill(store, dense);
    const placed = { gridSets: [set.gridSet], bounds: subset.extent };
    expect(await truncation.truncateSelection('roads', placed, false)).toEqual([]);
    expect(await truncation.truncateSelection('roads', { gridSets: [set.gridSet] }, false)).toEqual([
      { set: dense, tiles: 1, bytes: 3 },
    ]);
  });

  it('narrows by a polygon, to the tiles it touches', async () => {
    const { house, store, truncation, set } = await filled();
    const { minX, minY, maxX, maxY } = house.road.tiles.subset.extent;
    const tile = (maxX - minX) / 64;
    const ring = [
      [minX, maxY - 3 * tile - 1],
      [minX + 15.5 * tile, maxY - 3 * tile - 1],
      [minX, minY],
    ] as const;
    const area = { polygons: [[ring]], crs: 'grid-set' as const };
    const selection = { gridSets: [set.gridSet], formats: [set.format], zoomStop: 6, area };
    for (const dryRun of [true, false]) {
      expect(await truncation.truncateSelection('roads', selection, dryRun)).toEqual([
        { set, tiles: 2, bytes: 200 },
      ]);
    }
    const left = await store.present(set, 6, { minX: 0, minY: 0, maxX: 60, maxY: 60 }, 0);
    expect(left.map(({ x }) => x)).toEqual([16, 40]);
  });
});
