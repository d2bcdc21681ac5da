import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { tilesIn } from '../../test/contracts/tile-store-tools.ts';
import { createGate, until } from '../../test/fixtures/eventually.ts';
import { layerWithDenseTiles } from '../../test/fixtures/pipeline-harness.ts';
import {
  author,
  fill,
  noted,
  openTruncationFixture,
  STYLES,
  setsOf,
  TILE,
  type TruncationFixture,
} from '../../test/fixtures/task-fixture.ts';
import { TilewardenError } from '../domain/errors.ts';
import { formatOf } from '../domain/format.ts';
import { createParameterFilter, parametersIdOf, selectParameters } from '../domain/parameter-filter.ts';

const dark = selectParameters([STYLES], new Map([['STYLES', 'dark']])).id;

describe('truncating a layer', () => {
  it('truncating a layer clears every grid set, format and combination of parameters, and nothing of other layers', async () => {
    const { fixture, store, truncation } = await openTruncationFixture();
    const { set } = fixture.harness.tiles;
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

  it('truncating a layer lets go of tiles in memory, and keeps out what was being fetched', async () => {
    const { fixture, store, truncation } = await openTruncationFixture();
    const { harness } = fixture;
    await harness.read(2, 0, 0);
    const gate = createGate();
    harness.source.answer = async (request) => {
      const answer = harness.source.draw(request);
      await gate.opened;
      return answer;
    };
    const fetched = harness.read(3, 7, 7);
    await until(() => harness.source.requests.length === 2);
    await truncation.truncateLayer('roads');
    gate.open();
    await fetched;
    expect(await store.get(harness.tiles.set, { z: 3, x: 7, y: 7 })).toBeNull();
    harness.source.version = 2;
    harness.source.answer = (request) => harness.source.draw(request);
    for (const tile of [
      { z: 2, x: 0, y: 0 },
      { z: 3, x: 7, y: 7 },
    ]) {
      expect(await harness.shows((await harness.read(tile.z, tile.x, tile.y)).bytes, tile, 2)).toBe(true);
    }
  });

  it.each(['an area', 'a format', 'an invalidation of an area'] as const)(
    'truncating a layer reaches tiles that only memory holds, because the store is full: %s',
    async (what) => {
      const { fixture, store, selections } = await openTruncationFixture();
      const { harness } = fixture;
      store.put = () => Promise.reject(new TilewardenError('store-full', 'The disk is full.'));
      const tile = { z: 2, x: 0, y: 0 };
      await harness.read(2, 0, 0);
      await expect.poll(async () => (await harness.read(2, 0, 0)).outcome).toBe('HIT');
      harness.source.version = 2;
      const bounds = { minX: -20037508, minY: 0, maxX: 0, maxY: 20037508 };
      if (what === 'an area') await selections.truncate('roads', { bounds });
      if (what === 'a format') await selections.truncate('roads', { formats: ['image/png'] });
      if (what === 'an invalidation of an area') await selections.invalidate('roads', { bounds }, null);
      const after = await harness.read(2, 0, 0);
      expect(after.outcome).not.toBe('HIT');
      expect(await harness.shows(after.bytes, tile, 2)).toBe(true);
    },
  );

  it('a truncated area is not shown from memory when its tiles cannot be removed', async () => {
    const { fixture, store, selections } = await openTruncationFixture();
    const { harness } = fixture;
    await harness.read(2, 0, 0);
    await expect.poll(async () => (await harness.read(2, 0, 0)).outcome).toBe('HIT');
    store.edit = () => Promise.reject(new Error('the disk is broken'));
    const bounds = { minX: -20037508, minY: 0, maxX: 0, maxY: 20037508 };
    await expect(selections.truncate('roads', { bounds })).rejects.toThrow('broken');
    expect((await harness.read(2, 0, 0)).outcome).toBe('MISS');
  });

  it('truncating a layer lets a running seed go on and fill the emptied cache', async () => {
    const { fixture, store, truncation } = await openTruncationFixture();
    const { harness, service, ended } = fixture;
    let requests = 0;
    harness.source.answer = async (request) => {
      requests++;
      if (requests === 4) {
        await truncation.truncateLayer('roads');
        harness.source.version = 2;
      }
      return harness.source.draw(request);
    };
    const { id } = await service.create(
      { layer: 'roads', zoomStart: 4, zoomStop: 4, threadCount: 1 },
      author('me'),
    );
    expect(await ended(id)).toMatchObject({ state: 'done', tilesProcessed: 256n });
    let kept = 0;
    for await (const { x, y } of tilesIn(store, harness.tiles.set, 4)) {
      kept++;
      // One tile of each metatile, which was fetched as a whole.
      if (x % 4 > 0 || y % 4 > 0) continue;
      const tile = await store.get(harness.tiles.set, { z: 4, x, y });
      expect(tile && (await harness.shows(tile.bytes, { z: 4, x, y }, 2))).toBe(true);
    }
    expect(kept).toBe(256 - 3 * 16);
  });
});

it('truncating everything clears every layer, also undeclared ones', async () => {
  const { fixture, store, truncation } = await openTruncationFixture();
  const { set } = fixture.harness.tiles;
  await fill(store, set);
  await fill(store, { ...set, layer: 'forgotten' });
  expect((await truncation.truncateAll()).toSorted()).toEqual(['forgotten', 'roads']);
  expect([...(await setsOf(store, 'roads')), ...(await setsOf(store, 'forgotten'))]).toEqual([]);
});

it.each([
  ['a layer', ({ truncation }) => truncation.truncateLayer('roads')],
  ['all layers', ({ truncation }) => truncation.truncateAll()],
  ['a combination of parameters', ({ truncation }) => truncation.truncateParameters('roads', new Map())],
  ['orphans', ({ truncation }) => truncation.truncateOrphans('roads')],
  ['a format', ({ selections }) => selections.truncate('roads', { formats: ['image/gif'] })],
] satisfies [string, (of: TruncationFixture) => Promise<unknown>][])(
  'tiles stored after the generation rose stay when %s is truncated, however long the process stood still',
  async (_, truncate) => {
    const opened = await openTruncationFixture();
    const { fixture, store } = opened;
    const set = { ...fixture.harness.tiles.set, format: 'image/gif' };
    await fill(store, set);
    const { mark } = store;
    vi.spyOn(store, 'mark').mockImplementation(async (change) => {
      const numbers = await mark(change);
      if (change.type === 'close') return numbers;
      const rect = { minX: 0, minY: 0, maxX: 0, maxY: 0 };
      const ticket = await store.ticket('roads', { gridSet: set.gridSet, z: 1, rect });
      await store.put(set, 1, [{ ...TILE, bytes: Buffer.from('new') }], ticket.number);
      return numbers;
    });
    await truncate(opened);
    expect((await store.get(set, { z: 1, x: 0, y: 0 }))?.bytes.toString()).toBe('new');
  },
);

it('truncating everything clears many layers side by side, and a limited number at a time', async () => {
  const { fixture, store, truncation } = await openTruncationFixture();
  const { drop } = store;
  for (let i = 0; i < 40; i++) await fill(store, { ...fixture.harness.tiles.set, layer: `layer ${i}` });
  let [now, most] = [0, 0];
  Object.assign(store, {
    async drop(layer: string) {
      most = Math.max(most, ++now);
      await nextTurn();
      await drop(layer, null);
      now--;
    },
  });
  expect(await truncation.truncateAll()).toHaveLength(41);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(32);
});

it('truncating everything marks all layers in one transaction', async () => {
  const { fixture, store, truncation } = await openTruncationFixture();
  await fill(store, { ...fixture.harness.tiles.set, layer: 'forgotten' });
  const mark = vi.spyOn(store, 'mark');
  await truncation.truncateAll();
  const raised = mark.mock.calls.flatMap(([change]) => (change.type === 'raise' ? [change.raises] : []));
  expect(raised.map((raises) => raises.map(({ layer }) => layer).toSorted())).toEqual([
    ['forgotten', 'roads'],
  ]);
});

it('truncating one combination of parameters clears it in all grid sets and formats', async () => {
  const { fixture, store, truncation } = await openTruncationFixture();
  const { set } = fixture.harness.tiles;
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
  it('truncating orphans clears what the layer could not produce any more, and keeps the rest', async () => {
    const { fixture, store, truncation } = await openTruncationFixture();
    const { set } = fixture.harness.tiles;
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

  it('truncating orphans leaves combinations alone that cannot be listed and were not noted', async () => {
    const filter = createParameterFilter({ name: 'CQL_FILTER', defaultValue: '', regex: '.*' });
    const { fixture, store, truncation } = await openTruncationFixture({ parameters: [filter] });
    await fill(store, { ...fixture.harness.tiles.set, parametersId: 'e'.repeat(40) });
    await truncation.truncateOrphans('roads');
    expect(await setsOf(store, 'roads')).toHaveLength(1);
  });

  it('truncating orphans judges combinations that were noted by the filters of today', async () => {
    const filter = createParameterFilter({ name: 'CQL_FILTER', defaultValue: '', regex: '[A-Z]+ > [0-9]+' });
    const { fixture, store, truncation } = await openTruncationFixture({ parameters: [filter] });
    const { set } = fixture.harness.tiles;
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

it('truncating an extent is one task over each format and cached combination, also above the task limit', async () => {
  const png = formatOf('image/png');
  const jpeg = formatOf('image/jpeg');
  if (!png || !jpeg) throw new Error('formats');
  const { fixture, store, truncation } = await openTruncationFixture(
    { formats: [png, jpeg] },
    { maxUnfinished: 1 },
  );
  const { set, subset } = fixture.harness.tiles;
  const unlisted = { ...set, parametersId: 'b'.repeat(40) };
  const jpegs = { ...set, format: 'image/jpeg', parametersId: dark };
  for (const key of [set, { ...set, parametersId: dark }, unlisted, jpegs]) await fill(store, key);
  const { minX, minY, maxX, maxY } = subset.extent;
  const coords = [minX, minY, maxX, maxY];
  const extent = { layer: 'roads', gridSetId: set.gridSet, coords };
  await fixture.harness.read(1, 0, 0);
  const { id } = await truncation.truncateExtent(extent, author('me'));
  expect(await fixture.ended(id)).toMatchObject({
    state: 'done',
    request: { format: '*' },
    counters: { removed: 4 },
  });
  expect((await fixture.harness.read(1, 0, 0)).outcome).toBe('MISS');
  await truncation.truncateLayer('roads');
  expect(await setsOf(store, 'roads')).toEqual([]);
});

it('truncating an extent takes its dense tiles along with the others', async () => {
  const { fixture, store, truncation } = await openTruncationFixture({
    ...layerWithDenseTiles(),
    parameters: [],
  });
  const { set, subset } = fixture.harness.tiles;
  const dense = { ...set, gridSet: `${set.gridSet}@2x` };
  const unnamed = { ...dense, parametersId: 'a'.repeat(40) };
  for (const of of [set, dense, unnamed]) await fill(store, of);
  const { minX, minY, maxX, maxY } = subset.extent;
  const extent = { layer: 'roads', gridSetId: set.gridSet, coords: [minX, minY, maxX, maxY] };
  const { id } = await truncation.truncateExtent(extent, author('me'));
  expect(await fixture.ended(id)).toMatchObject({ state: 'done' });
  expect(await setsOf(store, 'roads')).toEqual([]);
});
