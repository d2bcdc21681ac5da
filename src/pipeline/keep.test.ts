import { describe, expect, it } from 'vitest';
import { raise } from '../../test/contracts/tile-store-tools.ts';
import { createGate, until } from '../../test/fixtures/eventually.ts';
import {
  layerWithDenseTiles,
  type PipelineHarness,
  pipelineHarnesses,
} from '../../test/fixtures/pipeline-harness.ts';
import { TilewardenError } from '../domain/errors.ts';
import { createGridSubset } from '../domain/grid-subset.ts';

const open = pipelineHarnesses();

const landed = (harness: PipelineHarness) => until(() => harness.pipeline.status().flights === 0);

function failing(harness: PipelineHarness): void {
  harness.source.answer = async () => {
    throw new TilewardenError('source-unavailable', 'The map source cannot be reached.');
  };
}

function holding(harness: PipelineHarness) {
  const gate = createGate();
  harness.source.answer = async (request) => {
    const answer = harness.source.draw(request);
    await gate.opened;
    return answer;
  };
  return gate;
}

async function truncate(harness: PipelineHarness): Promise<void> {
  await raise(harness.store, 'roads');
  await harness.store.drop('roads', null);
  harness.pipeline.forgetPlaces('roads', undefined);
}

describe('a combination of parameters that may not be stored', () => {
  const parameterSets = {
    admit: async () => false,
    require: async () => {
      throw new TilewardenError('too-many-parameter-sets', 'full');
    },
  };

  it('a combination of parameters that may not be stored is a BYPASS, and leaves nothing in the store', async () => {
    const harness = open({ parameterSets });
    const set = { ...harness.tiles.set, parametersId: 'f'.repeat(40) };
    const tile = { z: 4, x: 5, y: 6 };
    expect((await harness.pipeline.read({ ...harness.tiles, set }, tile)).outcome).toBe('BYPASS');
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
    await landed(harness);
    expect(await harness.store.get(set, tile)).toBeNull();
    expect(await harness.store.get(harness.tiles.set, tile)).not.toBeNull();
  });

  it('a combination of parameters that may not be stored makes a step of a task fail with the reason', async () => {
    const harness = open({ parameterSets });
    await expect(harness.renew('all', 4, 5, 6)).rejects.toMatchObject({ code: 'too-many-parameter-sets' });
  });
});

describe('freshness', () => {
  it('a tile that has expired is renewed', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60 } });
    await harness.read(4, 5, 6);
    await landed(harness);
    harness.clock.advance(60_000);
    expect((await harness.read(4, 5, 6)).outcome).toBe('HIT');
    harness.clock.advance(1);
    harness.source.version = 2;
    const renewed = await harness.read(4, 5, 6);
    expect(renewed.outcome).toBe('MISS');
    expect(await harness.shows(renewed.bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
    await landed(harness);
    const again = await harness.read(4, 5, 6);
    expect(again.outcome).toBe('HIT');
    expect(await harness.shows(again.bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  });

  it('an expired tile is served while the source fails, and requested again later', async () => {
    const harness = open({ layer: { expireCacheSeconds: 60 } });
    const first = await harness.read(4, 5, 6);
    await landed(harness);
    harness.clock.advance(61_000);
    failing(harness);
    const stale = await harness.read(4, 5, 6);
    expect(stale.outcome).toBe('STALE');
    expect(stale.bytes.equals(first.bytes)).toBe(true);
    expect((await harness.read(4, 5, 6)).outcome).toBe('STALE');
    expect(harness.source.requests).toHaveLength(2);
    harness.clock.advance(1001);
    harness.source.answer = harness.source.draw;
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
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
    const harness = open({ layer });
    for (const times of [1, 2]) {
      expect((await harness.read(4, 5, 6)).outcome).toBe('BYPASS');
      await landed(harness);
      expect(harness.source.requests).toHaveLength(times);
    }
    expect(harness.source.requests[0]?.metatile.rect).toEqual({ minX: 5, minY: 6, maxX: 5, maxY: 6 });
    expect(harness.pipeline.status().memoryTierTiles).toBe(0);
    expect(await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
  });

  it('zooms that are kept are stored beside those that are not', async () => {
    const harness = open({ layer: { gridSubsets: [notKept(3, 3)] } });
    await harness.read(3, 1, 1);
    await landed(harness);
    expect((await harness.read(3, 1, 1)).outcome).toBe('HIT');
  });

  it('zooms that are not kept are left out when a layer is seeded', async () => {
    const harness = open({ layer: { gridSubsets: [notKept(5, 8)] } });
    const metatile = { z: 4, column: 1, row: 1, rect: { minX: 4, minY: 4, maxX: 7, maxY: 7 } };
    const { signal } = new AbortController();
    const request = {
      tiles: harness.tiles,
      metatile,
      within: metatile.rect,
      mode: 'missing',
      signal,
    } as const;
    expect(await harness.pipeline.renew(request)).toMatchObject({ made: 0, present: 16 });
    expect(harness.source.requests).toHaveLength(0);
  });
});

describe('a tile asked for past the cache', () => {
  it('a tile requested past the cache is fetched though it is cached, and the cached one stays', async () => {
    const harness = open();
    const first = await harness.read(4, 5, 6);
    await landed(harness);
    harness.source.version = 2;
    const tile = { z: 4, x: 5, y: 6 };
    const past = await harness.pipeline.read({ ...harness.tiles, bypass: true }, tile);
    expect(past.outcome).toBe('BYPASS');
    expect(await harness.shows(past.bytes, tile, 2)).toBe(true);
    await landed(harness);
    expect((await harness.read(4, 5, 6)).bytes.equals(first.bytes)).toBe(true);
  });
});

describe('a truncation', () => {
  it('a truncation keeps earlier fetches out of the store and of the memory tier', async () => {
    const harness = open();
    const gate = holding(harness);
    const before = harness.read(4, 5, 6);
    await until(() => harness.source.requests.length === 1);
    await truncate(harness);
    gate.open();
    expect(await harness.shows((await before).bytes, { z: 4, x: 5, y: 6 })).toBe(true);
    await landed(harness);
    expect(await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
    expect(harness.pipeline.status().memoryTierTiles).toBe(0);
    expect(harness.warnings).toEqual([]);
  });

  it('a request after a truncation never gets an earlier fetch, whatever process truncated', async () => {
    const harness = open();
    const gate = holding(harness);
    const before = harness.read(4, 5, 6);
    await until(() => harness.source.requests.length === 1);
    await raise(harness.store, 'roads');
    harness.source.version = 2;
    const after = harness.read(4, 5, 6);
    await until(() => harness.source.requests.length === 2);
    gate.open();
    await before;
    expect(await harness.shows((await after).bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
    await landed(harness);
    const kept = await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 });
    expect(await harness.shows(kept?.bytes ?? Buffer.alloc(0), { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  });

  it('a truncation is not undone by a look into the store that began before it', async () => {
    const harness = open();
    await harness.renew('all', 4, 5, 6);
    const gate = createGate();
    const { get } = harness.store;
    harness.store.get = async (...args) => {
      const found = await get(...args);
      await gate.opened;
      return found;
    };
    const before = harness.read(4, 5, 6);
    await truncate(harness);
    gate.open();
    await before;
    harness.store.get = get;
    harness.source.version = 2;
    const after = await harness.read(4, 5, 6);
    expect(await harness.shows(after.bytes, { z: 4, x: 5, y: 6 }, 2)).toBe(true);
  });

  it('a fetch that began before another process replaced its tiles is not stored', async () => {
    const harness = open();
    const gate = holding(harness);
    const before = harness.read(4, 5, 6);
    await until(() => harness.source.requests.length === 1);
    harness.pipeline.forget({ ...harness.tiles.set }, 4, { minX: 7, minY: 7, maxX: 9, maxY: 9 });
    gate.open();
    await before;
    await landed(harness);
    expect(await harness.store.get(harness.tiles.set, { z: 4, x: 5, y: 6 })).toBeNull();
  });

  it('a truncation that arrives as an event empties the memory tier', async () => {
    const harness = open();
    await harness.read(4, 5, 6);
    await landed(harness);
    const { set } = harness.tiles;
    await harness.store.edit(set, 4, { minX: 5, minY: 6, maxX: 5, maxY: 6 }, { type: 'remove' });
    harness.emit({ type: 'deleted', set, z: 4, rect: { minX: 5, minY: 6, maxX: 5, maxY: 6 }, at: 0 });
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
    await landed(harness);
    await harness.store.drop('roads', null);
    harness.emit({ type: 'layer-dropped', layer: 'roads', at: 0 });
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
  });
});

describe('a store that fails', () => {
  const broken = () => new TilewardenError('store-failed', 'The store is broken.');

  it('a failing store is left out when it can be neither read nor written', async () => {
    const harness = open();
    for (const method of ['get', 'put', 'ticket'] as const) {
      harness.store[method] = async () => {
        throw broken();
      };
    }
    const answer = await harness.read(4, 5, 6);
    expect(answer.outcome).toBe('BYPASS');
    expect(await harness.shows(answer.bytes, { z: 4, x: 5, y: 6 })).toBe(true);
    expect(harness.warnings).toEqual([
      'the tile store could not be read; tiles are fetched from their source instead',
    ]);
  });

  it('a tile that a failing store has is not replaced when the store works again', async () => {
    const harness = open({ settings: { memoryTierBytes: 0 } });
    await harness.read(4, 5, 6);
    await landed(harness);
    harness.source.version = 2;
    const { get } = harness.store;
    harness.store.get = async () => {
      throw broken();
    };
    expect((await harness.read(4, 5, 6)).outcome).toBe('BYPASS');
    harness.store.get = get;
    await landed(harness);
    const { outcome, bytes } = await harness.read(4, 5, 6);
    expect([outcome, await harness.shows(bytes, { z: 4, x: 5, y: 6 }, 1)]).toEqual(['HIT', true]);
  });

  it('a full store does not keep an answer from going out, and warns once', async () => {
    const harness = open();
    const { put } = harness.store;
    harness.store.put = async () => {
      throw new TilewardenError('store-full', 'The disk is full.');
    };
    expect((await harness.read(4, 5, 6)).outcome).toBe('MISS');
    await landed(harness);
    expect((await harness.read(4, 0, 0)).outcome).toBe('BYPASS');
    await landed(harness);
    expect(harness.warnings).toEqual([
      'tiles could not be stored; they are served without being kept on disk',
    ]);
    expect((await harness.read(4, 5, 6)).outcome).toBe('HIT');
    harness.store.put = put;
    await harness.read(4, 8, 8);
    await landed(harness);
    expect((await harness.read(4, 12, 12)).outcome).toBe('MISS');
  });
});

it('a metatile that another node has made between the look and the claim is not made again', async () => {
  const other = open();
  const harness = open({
    store: other.store,
    claims: {
      async take() {
        await other.read(4, 5, 6);
        await landed(other);
        return () => {};
      },
      pause: async () => {},
    },
  });
  const { bytes } = await harness.read(4, 5, 6);
  expect(await harness.shows(bytes, { z: 4, x: 5, y: 6 })).toBe(true);
  expect(harness.source.requests).toEqual([]);
});

describe('a store that is silent', () => {
  /** Until the work is over. */
  async function whileSilent(
    settings: Parameters<typeof open>[0],
    work: (harness: PipelineHarness) => Promise<void>,
  ): Promise<void> {
    const harness = open(settings);
    const { put } = harness.store;
    const gate = createGate();
    harness.store.put = async (...args) => {
      await gate.opened;
      return await put(...args);
    };
    await work(harness).finally(gate.open);
    await landed(harness);
  }

  it('misses are answered from the source while a store is silent', () =>
    whileSilent({}, async (harness) => {
      const tiles = Array.from({ length: 20 }, (_, x) => harness.read(8, 8 * x, 0));
      const outcomes = (await Promise.all(tiles)).map(({ outcome }) => outcome);
      expect(new Set(outcomes)).toEqual(new Set(['MISS']));
    }));

  it('tiles that wait too long for a silent store are kept in memory, and the next miss is answered', () =>
    whileSilent({ settings: { maxLandings: 1, maxFetchesPerSource: 2 } }, async (harness) => {
      await harness.read(8, 0, 0);
      await harness.read(8, 8, 0);
      const next = harness.read(8, 16, 0);
      // The second waits for the store, the third for a fetch.
      await until(() => harness.clock.sleepers === 2);
      harness.clock.advance(3000);
      await next;
      expect((await harness.read(8, 8, 0)).outcome).toBe('HIT');
      expect(harness.warnings).toHaveLength(1);
    }));
});
