import { describe, expect, it } from 'vitest';
import {
  createGate,
  layerWithDenseTiles,
  type TileRoad,
  tileRoads,
  until,
} from '../../test/fixtures/tile-road.ts';
import { TilewardenError } from '../domain/errors.ts';
import { createGridSubset } from '../domain/grid-subset.ts';

const open = tileRoads();

const landed = (road: TileRoad) => until(() => road.pipeline.status().flights === 0);

function failing(road: TileRoad): void {
  road.source.answer = async () => {
    throw new TilewardenError('source-unavailable', 'The map source cannot be reached.');
  };
}

function holding(road: TileRoad) {
  const gate = createGate();
  road.source.answer = async (request) => {
    const answer = road.source.draw(request);
    await gate.opened;
    return answer;
  };
  return gate;
}

async function truncate(road: TileRoad): Promise<void> {
  await road.store.raiseGeneration('roads');
  await road.store.dropLayer('roads');
  road.pipeline.forgetLayer('roads');
}

describe('a combination of parameters that may not be stored', () => {
  const parameterSets = {
    admit: async () => false,
    require: async () => {
      throw new TilewardenError('too-many-parameter-sets', 'full');
    },
  };

  it('a combination of parameters that may not be stored is a BYPASS, and leaves nothing in the store', async () => {
    const road = open({ parameterSets });
    const set = { ...road.tiles.set, parametersId: 'f'.repeat(40) };
    const tile = { z: 4, x: 5, y: 6 };
    expect((await road.pipeline.read({ ...road.tiles, set }, tile)).outcome).toBe('BYPASS');
    expect((await road.read(4, 5, 6)).outcome).toBe('MISS');
    await landed(road);
    expect(await road.store.get(set, tile)).toBeNull();
    expect(await road.store.get(road.tiles.set, tile)).not.toBeNull();
  });

  it('a combination of parameters that may not be stored makes a step of a task fail with the reason', async () => {
    const road = open({ parameterSets });
    await expect(road.renew('all', 4, 5, 6)).rejects.toMatchObject({ code: 'too-many-parameter-sets' });
  });
});

describe('freshness', () => {
  it('a tile that has expired is renewed', async () => {
    const road = open({ layer: { expireCacheSeconds: 60 } });
    await road.read(4, 5, 6);
    await landed(road);
    road.clock.advance(60_000);
    expect((await road.read(4, 5, 6)).outcome).toBe('HIT');
    road.clock.advance(1);
    road.source.version = 2;
    const renewed = await road.read(4, 5, 6);
    expect(renewed.outcome).toBe('MISS');
    expect(await road.shows(renewed.bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
    await landed(road);
    const again = await road.read(4, 5, 6);
    expect(again.outcome).toBe('HIT');
    expect(await road.shows(again.bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  });

  it('an expired tile is served while the source fails, and requested again later', async () => {
    const road = open({ layer: { expireCacheSeconds: 60 } });
    const first = await road.read(4, 5, 6);
    await landed(road);
    road.clock.advance(61_000);
    failing(road);
    const stale = await road.read(4, 5, 6);
    expect(stale.outcome).toBe('STALE');
    expect(stale.bytes.equals(first.bytes)).toBe(true);
    expect((await road.read(4, 5, 6)).outcome).toBe('STALE');
    expect(road.source.requests).toHaveLength(2);
    road.clock.advance(1001);
    road.source.answer = road.source.draw;
    expect((await road.read(4, 5, 6)).outcome).toBe('MISS');
  });
});

describe('zooms that are not kept', () => {
  const notKept = (minCachedLevel: number, maxCachedLevel: number) => {
    const [subset] = layerWithDenseTiles().gridSubsets ?? [];
    if (!subset) throw new Error('no grid set');
    return createGridSubset(subset.gridSet, { minCachedLevel, maxCachedLevel });
  };

  it.each([
    ['below the first cached level', { gridSubsets: [notKept(5, 8)] as const }],
    ['above the last cached level', { gridSubsets: [notKept(0, 3)] as const }],
    ['that never stay fresh', { expireCacheByZoom: [{ minZoom: 4, seconds: -1 }] }],
  ])('zooms %s are fetched each time, one tile at a time', async (_case, layer) => {
    const road = open({ layer });
    for (const times of [1, 2]) {
      expect((await road.read(4, 5, 6)).outcome).toBe('BYPASS');
      await landed(road);
      expect(road.source.requests).toHaveLength(times);
    }
    expect(road.source.requests[0]?.metatile.rect).toEqual({ minX: 5, minY: 6, maxX: 5, maxY: 6 });
    expect(road.pipeline.status().memoryTierTiles).toBe(0);
    expect(await road.store.get(road.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
  });

  it('zooms that are kept are stored beside those that are not', async () => {
    const road = open({ layer: { gridSubsets: [notKept(3, 3)] } });
    await road.read(3, 1, 1);
    await landed(road);
    expect((await road.read(3, 1, 1)).outcome).toBe('HIT');
  });

  it('zooms that are not kept are left out when a layer is seeded', async () => {
    const road = open({ layer: { gridSubsets: [notKept(5, 8)] } });
    const metatile = { z: 4, column: 1, row: 1, rect: { minX: 4, minY: 4, maxX: 7, maxY: 7 } };
    const { signal } = new AbortController();
    const request = { tiles: road.tiles, metatile, within: metatile.rect, mode: 'missing', signal } as const;
    expect(await road.pipeline.renew(request)).toMatchObject({ made: 0, present: 16 });
    expect(road.source.requests).toHaveLength(0);
  });
});

describe('a tile asked for past the cache', () => {
  it('a tile requested past the cache is fetched though it is cached, and the cached one stays', async () => {
    const road = open();
    const first = await road.read(4, 5, 6);
    await landed(road);
    road.source.version = 2;
    const tile = { z: 4, x: 5, y: 6 };
    const past = await road.pipeline.read({ ...road.tiles, bypass: true }, tile);
    expect(past.outcome).toBe('BYPASS');
    expect(await road.shows(past.bytes, tile, 2)).toBe(true);
    await landed(road);
    expect((await road.read(4, 5, 6)).bytes.equals(first.bytes)).toBe(true);
  });
});

describe('a truncation', () => {
  it('a truncation keeps earlier fetches out of the store and of the memory tier', async () => {
    const road = open();
    const gate = holding(road);
    const before = road.read(4, 5, 6);
    await until(() => road.source.requests.length === 1);
    await truncate(road);
    gate.open();
    expect(await road.shows((await before).bytes, { z: 4, x: 5, y: 6 })).toBe(true);
    await landed(road);
    expect(await road.store.get(road.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
    expect(road.pipeline.status().memoryTierTiles).toBe(0);
    expect(road.warnings).toEqual([]);
  });

  it('a request after a truncation never gets an earlier fetch, whatever process truncated', async () => {
    const road = open();
    const gate = holding(road);
    const before = road.read(4, 5, 6);
    await until(() => road.source.requests.length === 1);
    await road.store.raiseGeneration('roads');
    road.source.version = 2;
    const after = road.read(4, 5, 6);
    await until(() => road.source.requests.length === 2);
    gate.open();
    await before;
    expect(await road.shows((await after).bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
    await landed(road);
    const kept = await road.store.get(road.tiles.set, { z: 4, x: 5, y: 6 });
    expect(await road.shows(kept?.bytes ?? Buffer.alloc(0), { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  });

  it('a truncation is not undone by a look into the store that began before it', async () => {
    const road = open();
    await road.renew('all', 4, 5, 6);
    const gate = createGate();
    const { get } = road.store;
    road.store.get = async (...args) => {
      const found = await get(...args);
      await gate.opened;
      return found;
    };
    const before = road.read(4, 5, 6);
    await truncate(road);
    gate.open();
    await before;
    road.store.get = get;
    road.source.version = 2;
    const after = await road.read(4, 5, 6);
    expect(await road.shows(after.bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  });

  it('a fetch that began before another process replaced its tiles is not stored', async () => {
    const road = open();
    const gate = holding(road);
    const before = road.read(4, 5, 6);
    await until(() => road.source.requests.length === 1);
    road.pipeline.forget({ ...road.tiles.set }, 4, { minX: 7, minY: 7, maxX: 9, maxY: 9 });
    gate.open();
    await before;
    await landed(road);
    expect(await road.store.get(road.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
  });

  it('a truncation that arrives as an event empties the memory tier', async () => {
    const road = open();
    await road.read(4, 5, 6);
    await landed(road);
    const { set } = road.tiles;
    await road.store.edit(set, 4, { minX: 5, minY: 6, maxX: 5, maxY: 6 }, { type: 'remove' });
    road.emit({ type: 'deleted', set, z: 4, rect: { minX: 5, minY: 6, maxX: 5, maxY: 6 }, at: 0 });
    expect((await road.read(4, 5, 6)).outcome).toBe('MISS');
    await landed(road);
    await road.store.dropLayer('roads');
    road.emit({ type: 'layer-dropped', layer: 'roads', at: 0 });
    expect((await road.read(4, 5, 6)).outcome).toBe('MISS');
  });
});

describe('a store that fails', () => {
  const broken = () => new TilewardenError('store-failed', 'The store is broken.');

  it('a failing store is left out when it can be neither read nor written', async () => {
    const road = open();
    for (const method of ['get', 'putMany', 'ticket'] as const) {
      road.store[method] = async () => {
        throw broken();
      };
    }
    const answer = await road.read(4, 5, 6);
    expect(answer.outcome).toBe('BYPASS');
    expect(await road.shows(answer.bytes, { z: 4, x: 5, y: 6 })).toBe(true);
    expect(road.warnings).toEqual([
      'the tile store could not be read; tiles are fetched from their source instead',
    ]);
  });

  it('a full store does not keep an answer from going out, and warns once', async () => {
    const road = open();
    const { putMany } = road.store;
    road.store.putMany = async () => {
      throw new TilewardenError('store-full', 'The disk is full.');
    };
    expect((await road.read(4, 5, 6)).outcome).toBe('MISS');
    await landed(road);
    expect((await road.read(4, 0, 0)).outcome).toBe('BYPASS');
    await landed(road);
    expect(road.warnings).toEqual(['tiles could not be stored; they are served without being kept on disk']);
    expect((await road.read(4, 5, 6)).outcome).toBe('HIT');
    road.store.putMany = putMany;
    await road.read(4, 8, 8);
    await landed(road);
    expect((await road.read(4, 12, 12)).outcome).toBe('MISS');
  });
});
