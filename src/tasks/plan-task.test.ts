import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PLAIN_LAYER } from '../../test/fixtures/plain-layer.ts';
import type { BoundLayer } from '../catalog/catalog.ts';
import { formatOf } from '../domain/format.ts';
import { createGridSet } from '../domain/grid-set.ts';
import { createGridSubset } from '../domain/grid-subset.ts';
import type { Layer } from '../domain/layer.ts';
import { createParameterFilter } from '../domain/parameter-filter.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
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

function plan(draft: Omit<TaskDraft, 'layer'>, more: Partial<Layer> = {}) {
  const bound = layerOf(more);
  return planTask(
    { layer: 'states', ...draft },
    { layer: (name) => (name === 'states' ? bound : null), maxThreadCount: 64 },
  );
}

describe('defaults', () => {
  it('a bare request seeds the first grid set and format over the whole layer with one thread', () => {
    const { request, tilesTotal } = plan({});
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

  it('10^18 tiles are planned at once, in a few kilobytes', () => {
    const planned = plan({ threadCount: 64 });
    expect(JSON.stringify([planned.plan, planned.request]).length).toBeLessThan(6000);
    expect(Number.isSafeInteger(pieceCount(planned.plan))).toBe(true);
  });
});

describe('the grid set', () => {
  it('gridSetId wins over srs, and may be an alias', () => {
    expect(plan({ gridSetId: 'geographic', srs: 3857 }).request.gridSet).toBe('geographic');
    expect(plan({ gridSetId: 'google' }).request.gridSet).toBe('mercator');
  });

  it('3857, 900913, 102100 and 102113 are one code', () => {
    for (const srs of [3857, 900913, 102100, 102113]) expect(plan({ srs }).request.gridSet).toBe('mercator');
    expect(plan({ srs: 4326 }).request.gridSet).toBe('geographic');
  });

  it('a code that several grid sets have needs a gridSetId', () => {
    const two = {
      gridSubsets: [createGridSubset(mercator('one')), createGridSubset(mercator('two'))],
    } as const;
    expect(() => plan({ srs: 900913 }, two)).toThrow('gridSetId must be specified');
  });

  it('an unknown one is refused with those that are there', () => {
    expect(() => plan({ srs: 31700 })).toThrow(/31700.*mercator.*geographic/);
    expect(() => plan({ gridSetId: 'mars' })).toThrow(/gridSetId.*mars.*mercator, geographic/);
  });
});

describe('bounds', () => {
  it('partly outside are clipped', () => {
    const { request } = plan({ gridSetId: 'geographic', coords: [-200, 0, -100, 40] });
    expect(request.bounds).toEqual({ minX: -130, minY: 20, maxX: -100, maxY: 40 });
  });

  it('wholly outside are refused', () => {
    expect(() => plan({ gridSetId: 'geographic', coords: [10, 10, 20, 15] })).toThrow(/outside the layer/);
  });

  it('must be four finite numbers in order', () => {
    for (const coords of [
      [],
      [1, 2, 3],
      [1, 2, 3, 4, 5],
      [Number.NaN, 0, 1, 1],
      [0, 0, Number.POSITIVE_INFINITY, 1],
    ]) {
      expect(() => plan({ coords })).toThrow(/four numbers/);
    }
    expect(() => plan({ coords: [5, 0, 4, 1] })).toThrow(/minX <= maxX/);
  });

  it('that are a point mean the tile around it', () => {
    expect(plan({ coords: [1000, 1000, 1000, 1000], zoomStart: 3, zoomStop: 5 }).tilesTotal).toBe(3n);
  });
});

describe('zooms', () => {
  it('above the layer are reduced to it; below it they begin where it does', () => {
    expect(plan({ gridSetId: 'geographic', zoomStart: 0, zoomStop: 99 }).request).toMatchObject({
      zoomStart: 2,
      zoomStop: 10,
    });
  });

  it('that make no sense are refused', () => {
    expect(() => plan({ zoomStart: 5, zoomStop: 4 })).toThrow(/zoomStart 5.*zoomStop 4/);
    expect(() => plan({ zoomStart: -1 })).toThrow(/zoomStart/);
    expect(() => plan({ zoomStop: 1.5 })).toThrow(/zoomStop/);
    expect(() => plan({ gridSetId: 'geographic', zoomStart: 11 })).toThrow(/zoomStart 11/);
    expect(() => plan({ gridSetId: 'geographic', zoomStop: 1, zoomStart: 0 })).toThrow(/first zoom, 2/);
  });
});

describe('names and numbers', () => {
  it('unknown ones are refused with what is allowed', () => {
    expect(() => plan({ type: 'sow' })).toThrow(/"sow".*seed, reseed, truncate/);
    expect(() => plan({ format: 'image/tiff' })).toThrow(/image\/tiff.*image\/png, image\/jpeg/);
    expect(() => plan({ parameters: new Map([['styles', 'neon']]) })).toThrow(/neon.*light, dark/);
    expect(() => planTask({ layer: 'x' }, { layer: () => null, maxThreadCount: 1 })).toThrow(
      'There is no layer x.',
    );
    expect(() => plan({ priority: 11 })).toThrow(/priority/);
  });

  it('parameters go through the filters to the tile set that requests read', () => {
    const { request } = plan({ parameters: new Map([['Styles', 'dark']]) });
    expect(request.parameters).toEqual({ STYLES: 'dark' });
    expect(request.parametersId).toMatch(/^[0-9a-f]{40}$/);
  });

  it('threads are at least one, at most the maximum, and one for a truncate', () => {
    expect(plan({ threadCount: 0 }).request.threadCount).toBe(1);
    expect(plan({ threadCount: -3 }).request.threadCount).toBe(1);
    expect(plan({ threadCount: 1e9 }).request.threadCount).toBe(64);
    expect(plan({ threadCount: 8, type: 'truncate' }).request.threadCount).toBe(1);
  });

  it('-1 for retries and limits means as usual', () => {
    const { request } = plan({ tileFailureRetryCount: -1, totalFailuresBeforeAborting: -1 });
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

  it('in EPSG:4326 is carried over to web mercator and narrows the bounds', () => {
    const { request, tilesTotal } = plan({ zoomStop: 8, area: { polygons: europe, crs: 'EPSG:4326' } });
    expect(request.bounds.minX).toBeCloseTo(-1113194.9, 0);
    const { minX, minY, maxX, maxY } = request.bounds;
    const box = plan({ zoomStop: 8, coords: [minX, minY, maxX, maxY] });
    expect(tilesTotal).toBe(box.tilesTotal);
  });

  it('outside the layer, without points or in a CRS we cannot carry over is refused', () => {
    const area = { polygons: europe, crs: 'EPSG:4326' } as const;
    expect(() => plan({ gridSetId: 'geographic', area })).toThrow(/area lies outside/);
    expect(() => plan({ area: { polygons: [], crs: 'grid-set' } })).toThrow(/area/);
    const swiss = createGridSet({
      name: 'swiss',
      srs: 2056,
      extent: { minX: 0, minY: 0, maxX: 9, maxY: 9 },
      levels: 3,
    });
    expect(() => plan({ area }, { gridSubsets: [createGridSubset(swiss)] })).toThrow(/in the CRS of swiss/);
  });
});

it('any numbers lead to a plan or a plain refusal, quickly', () => {
  const number = fc.oneof(fc.double(), fc.constantFrom(1e308, -1e308, 2 ** 63, Number.NaN, Infinity, 0));
  fc.assert(
    fc.property(
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
      (draft) => {
        try {
          const { tilesTotal, request } = plan(draft as Omit<TaskDraft, 'layer'>);
          expect(tilesTotal > 0n && tilesTotal < 2n ** 63n).toBe(true);
          expect(request.threadCount).toBeGreaterThanOrEqual(1);
        } catch (error) {
          expect(error).toMatchObject({ code: 'request-invalid' });
        }
      },
    ),
    { numRuns: 300 },
  );
});
