import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combOf, PLAIN_LAYER } from '../../test/fixtures/layers.ts';
import { inLength } from '../../test/fixtures/length.ts';
import type { BoundLayer } from '../catalog/catalog.ts';
import { MAX_VISITS, VISITS_PER_TURN } from '../domain/area-cover.ts';
import { formatOf } from '../domain/format.ts';
import { createGridSet } from '../domain/grid-set.ts';
import { createGridSubset } from '../domain/grid-subset.ts';
import type { Layer } from '../domain/layer.ts';
import { createParameterFilter } from '../domain/parameter-filter.ts';
import type { Pace } from '../lib/yielding.ts';
import { createMemoryStore } from '../storage/segments/memory-store.ts';
import { planTask } from './plan-task.ts';
import type { TaskDraft } from './task-draft.ts';
import { pieceCount } from './task-plan.ts';

const WORLD = 20037508.342789244;
const mercator = (name: string, srs = 3857) =>
  createGridSet({
    name,
    aliases: name === 'mercator' ? ['google'] : [],
    srs,
    extent: { minX: -WORLD, minY: -WORLD, maxX: WORLD, maxY: WORLD },
    levels: 31,
  });
const geographic = createGridSet({
  name: 'geographic',
  srs: 4326,
  extent: { minX: -180, minY: -90, maxX: 180, maxY: 90 },
  levels: 22,
});

function layerOf(more: Partial<Layer>): BoundLayer {
  const [png, jpeg] = [formatOf('image/png'), formatOf('image/jpeg')];
  if (!png || !jpeg) throw new Error('no format');
  const layer: Layer = {
    ...PLAIN_LAYER,
    name: 'states',
    formats: [png, jpeg],
    gridSubsets: [
      createGridSubset(mercator('mercator', 900913)),
      createGridSubset(geographic, {
        zoomStart: 2,
        zoomStop: 10,
        extent: { minX: -130, minY: 20, maxX: -60, maxY: 55 },
      }),
    ],
    parameters: [createParameterFilter({ name: 'STYLES', defaultValue: 'light', values: ['light', 'dark'] })],
    ...more,
  };
  const store = createMemoryStore({ type: 'memory' });
  const source = {
    maxMetatile: null,
    fetch: () => Promise.reject(new Error('not here')),
    close: async () => {},
  };
  return { layer, store, source: () => source };
}

function plan(draft: Omit<TaskDraft, 'layer'>, more: Partial<Layer> = {}, pace: Pace = async () => {}) {
  const bound = layerOf(more);
  return planTask(
    { layer: 'states', ...draft },
    { layer: (name) => (name === 'states' ? bound : null), maxThreadCount: 64, pace },
  );
}

describe('defaults', () => {
  it('a bare request seeds the first grid set and format over the whole layer with one thread', async () => {
    const { request, tilesTotal } = await plan({});
    expect(request).toMatchObject({
      type: 'seed',
      gridSet: 'mercator',
      format: 'image/png',
      zoomStart: 0,
      zoomStop: 30,
      threadCount: 1,
      parametersId: null,
      parameters: { STYLES: 'light' },
      tileFailureRetryCount: 2,
      tileFailureRetryWaitTime: 1000,
      totalFailuresBeforeAborting: 1000,
      priority: 0,
      area: null,
    });
    expect(tilesTotal).toBe((4n ** 31n - 1n) / 3n);
  });

  it('10^18 tiles are planned in a few kilobytes', async () => {
    const planned = await plan({ threadCount: 64 });
    expect(JSON.stringify([planned.plan, planned.request]).length).toBeLessThan(6000);
    expect(Number.isSafeInteger(pieceCount(planned.plan))).toBe(true);
  });
});

describe('scales', () => {
  it('a seed leaves out the zooms that clients do not see, and a truncation does not', async () => {
    const scaled = { gridSubsets: [createGridSubset(mercator('one'), { scales: [50e6, 200e6] })] } as const;
    expect((await plan({}, scaled)).request).toMatchObject({ zoomStart: 2, zoomStop: 3 });
    expect((await plan({ type: 'truncate' }, scaled)).request).toMatchObject({ zoomStart: 0, zoomStop: 30 });
    await expect(plan({ zoomStart: 4 }, scaled)).rejects.toThrow('the layer has zooms 2 to 3');
  });
});

describe('the grid set', () => {
  it('gridSetId wins over srs, and may be an alias', async () => {
    expect((await plan({ gridSetId: 'geographic', srs: 3857 })).request.gridSet).toBe('geographic');
    expect((await plan({ gridSetId: 'google' })).request.gridSet).toBe('mercator');
  });

  it('3857, 900913, 102100 and 102113 are one code', async () => {
    for (const srs of [3857, 900913, 102100, 102113])
      expect((await plan({ srs })).request.gridSet).toBe('mercator');
    expect((await plan({ srs: 4326 })).request.gridSet).toBe('geographic');
  });

  it('a code that several grid sets have needs a gridSetId', async () => {
    const two = {
      gridSubsets: [createGridSubset(mercator('one')), createGridSubset(mercator('two'))],
    } as const;
    await expect(plan({ srs: 900913 }, two)).rejects.toThrow('gridSetId must be specified');
  });

  it('an unknown grid set is refused with the list of existing ones', async () => {
    await expect(plan({ srs: 31700 })).rejects.toThrow(/31700.*mercator.*geographic/);
    await expect(plan({ gridSetId: 'mars' })).rejects.toThrow(/gridSetId.*mars.*mercator, geographic/);
  });
});

describe('bounds', () => {
  it('bounds partly outside the layer are clipped', async () => {
    const { request } = await plan({ gridSetId: 'geographic', coords: [-200, 0, -100, 40] });
    expect(request.bounds).toEqual({ minX: -130, minY: 20, maxX: -100, maxY: 40 });
  });

  it('bounds wholly outside the layer are refused', async () => {
    await expect(plan({ gridSetId: 'geographic', coords: [10, 10, 20, 15] })).rejects.toThrow(
      /outside the layer/,
    );
  });

  it('bounds must be four finite numbers in order', async () => {
    for (const coords of [
      [],
      [1, 2, 3],
      [1, 2, 3, 4, 5],
      [Number.NaN, 0, 1, 1],
      [0, 0, Number.POSITIVE_INFINITY, 1],
    ]) {
      await expect(plan({ coords })).rejects.toThrow(/four numbers/);
    }
    await expect(plan({ coords: [5, 0, 4, 1] })).rejects.toThrow(/minX <= maxX/);
  });

  it('bounds that are a point mean the tile around it', async () => {
    expect((await plan({ coords: [1000, 1000, 1000, 1000], zoomStart: 3, zoomStop: 5 })).tilesTotal).toBe(3n);
  });
});

describe('zooms', () => {
  it("zooms above the layer's are reduced to it; zooms below it begin where it does", async () => {
    expect((await plan({ gridSetId: 'geographic', zoomStart: 0, zoomStop: 99 })).request).toMatchObject({
      zoomStart: 2,
      zoomStop: 10,
    });
  });

  it('zooms that make no sense are refused', async () => {
    await expect(plan({ zoomStart: 5, zoomStop: 4 })).rejects.toThrow(/zoomStart 5.*zoomStop 4/);
    await expect(plan({ zoomStart: -1 })).rejects.toThrow(/zoomStart/);
    await expect(plan({ zoomStop: 1.5 })).rejects.toThrow(/zoomStop/);
    await expect(plan({ gridSetId: 'geographic', zoomStart: 11 })).rejects.toThrow(/zoomStart 11/);
    await expect(plan({ gridSetId: 'geographic', zoomStop: 1, zoomStart: 0 })).rejects.toThrow(
      /first zoom, 2/,
    );
  });
});

describe('names and numbers', () => {
  it('unknown names and numbers of a task are refused with what is allowed', async () => {
    await expect(plan({ type: 'sow' })).rejects.toThrow(/"sow".*seed, reseed, truncate/);
    await expect(plan({ format: 'image/tiff' })).rejects.toThrow(/image\/tiff.*image\/png, image\/jpeg/);
    await expect(plan({ parameters: new Map([['styles', 'neon']]) })).rejects.toThrow(/neon.*light, dark/);
    await expect(
      planTask({ layer: 'x' }, { layer: () => null, maxThreadCount: 1, pace: async () => {} }),
    ).rejects.toThrow('There is no layer x.');
  });

  it('parameters go through the filters to the tile set that requests read', async () => {
    const { request } = await plan({ parameters: new Map([['Styles', 'dark']]) });
    expect(request.parameters).toEqual({ STYLES: 'dark' });
    expect(request.parametersId).toMatch(/^[0-9a-f]{40}$/);
  });

  it('the threads of a task are at least one, at most the maximum, and one for a truncate', async () => {
    expect((await plan({ threadCount: 0 })).request.threadCount).toBe(1);
    expect((await plan({ threadCount: -3 })).request.threadCount).toBe(1);
    expect((await plan({ threadCount: 1e9 })).request.threadCount).toBe(64);
    expect((await plan({ threadCount: 8, type: 'truncate' })).request.threadCount).toBe(1);
  });

  it('-1 for retries and limits of a task means the default', async () => {
    const { request } = await plan({ tileFailureRetryCount: -1, totalFailuresBeforeAborting: -1 });
    expect(request).toMatchObject({ tileFailureRetryCount: 2, totalFailuresBeforeAborting: 1000 });
  });
});

describe('an area', () => {
  const europe = [
    [
      [
        [-10, 36],
        [30, 36],
        [30, 60],
        [-10, 60],
      ],
    ],
  ] as const;

  it('an area in EPSG:4326 is carried over to web mercator and narrows the bounds', async () => {
    const { request, tilesTotal } = await plan({ zoomStop: 8, area: { polygons: europe, crs: 'EPSG:4326' } });
    expect(request.bounds.minX).toBeCloseTo(-1113194.9, 0);
    const { minX, minY, maxX, maxY } = request.bounds;
    const box = await plan({ zoomStop: 8, coords: [minX, minY, maxX, maxY] });
    expect(tilesTotal).toBe(box.tilesTotal);
  });

  it('an area of 10,000 points at zooms 0 to 30 is counted once, in short turns', async () => {
    let looks = 0;
    let most = 0;
    const pace = async (units: number) => {
      looks += units;
      most = Math.max(most, units);
    };
    const comb = combOf(10_000, { minX: -170, minY: -80, maxX: 170, maxY: 80 });
    const { tilesTotal } = await plan({ area: { polygons: [comb], crs: 'EPSG:4326' } }, {}, pace);
    expect(tilesTotal).toBeGreaterThan(0n);
    expect(looks).toBeLessThanOrEqual(31 * 1.5 * MAX_VISITS);
    expect(most).toBeLessThanOrEqual(2 * VISITS_PER_TURN);
  });

  it('an area outside the layer, without points or in a CRS that cannot be converted is refused', async () => {
    const area = { polygons: europe, crs: 'EPSG:4326' } as const;
    await expect(plan({ gridSetId: 'geographic', area })).rejects.toThrow(/area lies outside/);
    await expect(plan({ area: { polygons: [], crs: 'grid-set' } })).rejects.toThrow(/area/);
    const swiss = createGridSet({
      name: 'swiss',
      srs: 2056,
      extent: { minX: 0, minY: 0, maxX: 9, maxY: 9 },
      levels: 3,
    });
    await expect(plan({ area }, { gridSubsets: [createGridSubset(swiss)] })).rejects.toThrow(
      /in the CRS of swiss/,
    );
  });
});

it('any numbers in a request lead to a plan or a plain refusal, quickly', async () => {
  const number = fc.oneof(fc.double(), fc.constantFrom(1e308, -1e308, 2 ** 63, Number.NaN, Infinity, 0));
  await fc.assert(
    fc.asyncProperty(
      fc.record(
        {
          coords: fc.array(number, { maxLength: 5 }),
          zoomStart: number,
          zoomStop: number,
          threadCount: number,
          srs: number,
          tileFailureRetryCount: number,
        },
        { requiredKeys: [] },
      ),
      async (draft) => {
        try {
          const { tilesTotal, request } = await plan(draft as Omit<TaskDraft, 'layer'>);
          expect(tilesTotal > 0n && tilesTotal < 2n ** 63n).toBe(true);
          expect(request.threadCount).toBeGreaterThanOrEqual(1);
        } catch (error) {
          expect(error).toMatchObject({ code: 'request-invalid' });
        }
      },
    ),
    { numRuns: inLength(100, 2000) },
  );
});

describe('order use', () => {
  const used = [
    { z: 10, pageX: 3, pageY: 4, uses: 80 },
    { z: 12, pageX: 12, pageY: 16, uses: 15 },
    { z: 11, pageX: 6, pageY: 8, uses: 4 },
    { z: 9, pageX: 0, pageY: 0, uses: 1 },
  ];
  const placesIn = ({ plan: { levels } }: Awaited<ReturnType<typeof plan>>) =>
    levels.map(({ z, rect }) => `${z}/${rect.minX}-${rect.maxX}/${rect.minY}-${rect.maxY}`);

  it('a seed by use has the most used pages in order, each before its children, until the share is covered', async () => {
    const planned = await plan({ order: 'use', share: 0.9, uses: used });
    expect(placesIn(planned)).toEqual([
      '10/48-63/64-79',
      '11/96-127/128-159',
      '12/192-207/256-271',
      '13/384-415/512-543',
    ]);
    expect(planned.coveredUse).toBe(0.95);
    expect(planned.tilesTotal).toBe(2n * 256n + 2n * 1024n);
    expect(planned.request).toMatchObject({ order: 'use', share: 0.9 });
  });

  it('a page that is among the children of a more used one is made once', async () => {
    const planned = await plan({ order: 'use', share: 1, uses: used, zoomStop: 11 });
    expect(planned.tilesTotal).toBe(256n + 1024n + 256n + 1024n);
    expect(planned.coveredUse).toBe(1);
  });

  it('the share of a seed by use is that of the use within the zooms and bounds of the request', async () => {
    const planned = await plan({ order: 'use', share: 0.5, uses: used, zoomStart: 12, zoomStop: 12 });
    expect([placesIn(planned), planned.coveredUse]).toEqual([['12/192-207/256-271'], 1]);
  });

  it.each([
    [{ share: 0.5 }, 'share requires order use'],
    [{ uses: used }, 'uses requires order use'],
    [{ order: 'use', share: 0 }, 'share must be above 0'],
    [{ order: 'use', share: Number.NaN }, 'share must be above 0'],
    [{ order: 'use', type: 'truncate' }, 'only seed and reseed'],
  ] as const)('a seed with %j is refused: %s', async (draft, message) => {
    await expect(plan(draft)).rejects.toThrow(message);
  });
});
