import { afterEach, describe, expect, it } from 'vitest';
import { author } from '../../test/fixtures/author.ts';
import {
  countStored,
  openTaskHouse,
  type TaskHouse,
  type TaskHouseOptions,
} from '../../test/fixtures/task-house.ts';
import { createGate, layerWithDenseTiles, until } from '../../test/fixtures/tile-road.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { resolveTileSet } from '../pipeline/resolve-tile-set.ts';

const WHOLE_ZOOM_3 = { minX: 0, minY: 0, maxX: 7, maxY: 7 };

let house: TaskHouse | null = null;

afterEach(async () => {
  await house?.close();
  house = null;
});

async function open(options: TaskHouseOptions = {}): Promise<TaskHouse> {
  house = await openTaskHouse(options);
  return house;
}

describe('a truncate', () => {
  it('removes what lies in its range and nothing else, and counts the whole range', async () => {
    const { service, road, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 3 }, author('me'))).id);
    await road.read(3, 7, 7);
    const half = { layer: 'roads', type: 'truncate', coords: [-20037508, -20037508, -1, 20037508] };
    const done = await ended((await service.create({ ...half, zoomStop: 9 }, author('me'))).id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: done.tilesTotal });
    expect(done.counters.removed).toBe(1 + 2 + 8 + 32);
    expect(await countStored(house as TaskHouse, 9)).toBe(2 + 8 + 32);
    expect((await road.read(3, 7, 7)).outcome).toBe('HIT');
    expect((await road.read(3, 0, 7)).outcome).toBe('MISS');
  });

  it('takes the dense tiles of the same places along, and those alone when it names them', async () => {
    const { road, service, ended } = await open({ layer: layerWithDenseTiles() });
    const { subset, set } = road.tiles;
    const dense = { ...set, gridSet: `${set.gridSet}@2x` };
    const tiles = [0, 7].map((x) => ({ x, y: 0, bytes: Buffer.from('old'), createdAt: 1 }));
    const left = async (of: TileSetKey) =>
      (await road.store.present(of, 3, WHOLE_ZOOM_3, 0)).map(({ x }) => x);
    const names = { gridSet: dense.gridSet, format: null, parameters: new Map() };
    const readDense = () => road.pipeline.read(resolveTileSet(road.tiles.bound, names), { z: 3, x: 0, y: 0 });
    for (const of of [set, dense]) await road.store.putMany(of, 3, tiles, 0);
    expect((await readDense()).outcome).toBe('HIT');
    const { minX, minY, maxY } = subset.extent;
    const half = { layer: 'roads', type: 'truncate', coords: [minX, minY, -1, maxY], gridSetId: set.gridSet };
    const done = await ended((await service.create(half, author('me'))).id);
    expect(done).toMatchObject({ state: 'done', tilesProcessed: done.tilesTotal, counters: { removed: 2 } });
    expect(await left(set)).toEqual([7]);
    expect(await left(dense)).toEqual([7]);
    expect((await readDense()).outcome).toBe('MISS');
    const named = { layer: 'roads', type: 'truncate', gridSetId: dense.gridSet };
    await ended((await service.create(named, author('me'))).id);
    expect(await left(set)).toEqual([7]);
    expect(await left(dense)).toEqual([]);
  });

  it('leaves what was stored after it was accepted, however late it runs', async () => {
    const { service, road, ended } = await open();
    await ended((await service.create({ layer: 'roads', zoomStop: 2 }, author('me'))).id);
    const truncation = await service.create({ layer: 'roads', type: 'truncate' }, author('me'));
    await service.pause(truncation.id);
    road.source.version = 2;
    await ended((await service.create({ layer: 'roads', type: 'reseed', zoomStop: 1 }, author('me'))).id);
    await service.resume(truncation.id);
    await ended(truncation.id);
    for (const tile of [
      { z: 0, x: 0, y: 0 },
      { z: 1, x: 1, y: 1 },
    ]) {
      const found = await road.store.get(road.tiles.set, tile);
      expect(found && (await road.shows(found.bytes, tile, 2))).toBe(true);
    }
    expect(await countStored(house as TaskHouse, 9)).toBeGreaterThanOrEqual(1 + 4);
  });

  it('may come twice', async () => {
    const { service, ended } = await open();
    for (let i = 0; i < 2; i++) {
      const done = await ended((await service.create({ layer: 'roads', type: 'truncate' }, author('me'))).id);
      expect(done.state).toBe('done');
    }
  });

  it('keeps a tile that was being fetched before it from being stored after it', async () => {
    const { service, road, ended } = await open();
    const gate = createGate();
    road.source.answer = async (request) => {
      const answer = road.source.draw(request);
      await gate.opened;
      return answer;
    };
    const seed = await service.create({ layer: 'roads', zoomStop: 0 }, author('me'));
    await until(() => road.source.requests.length === 1);
    road.source.version = 2;
    await ended((await service.create({ layer: 'roads', type: 'truncate' }, author('me'))).id);
    gate.open();
    expect((await ended(seed.id)).state).toBe('done');
    const tile = await road.store.get(road.tiles.set, { z: 0, x: 0, y: 0 });
    expect(tile && (await road.shows(tile.bytes, { z: 0, x: 0, y: 0 }, 2))).toBe(true);
  });
});
