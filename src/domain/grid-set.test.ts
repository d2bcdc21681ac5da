import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyGridSet, anyPlace, customGridSet } from '../../test/fixtures/layers.ts';
import { builtInGridSets } from './built-in-grid-sets.ts';
import {
  boundsOfTile,
  createGridSet,
  type GridSet,
  type GridSetOptions,
  levelOf,
  tilesOfBounds,
} from './grid-set.ts';

const SWISS: GridSetOptions = {
  name: 'swiss',
  srs: 2056,
  extent: { minX: 2_420_000, minY: 1_030_000, maxX: 2_900_000, maxY: 1_350_000 },
  resolutions: [4000, 1000, 250, 20, 0.5],
};

function createSwiss(changes: Partial<GridSetOptions>): GridSet {
  return createGridSet({ ...SWISS, ...changes });
}

function without(key: 'resolutions', changes: Partial<GridSetOptions>): GridSetOptions {
  const { [key]: _, ...rest } = { ...SWISS, ...changes };
  return rest;
}

describe('a grid set', () => {
  it('a grid set has as many tiles as its extent needs', () => {
    const { levels } = createSwiss({});
    expect(levels.map(({ columns, rows }) => [columns, rows])).toEqual([
      [1, 1],
      [2, 2],
      [8, 5],
      [94, 63],
      [3750, 2500],
    ]);
  });

  it('a grid set anchors its rows at the bottom, or at the top when configured', () => {
    expect(boundsOfTile(createSwiss({}), 1, 0, 1).minY).toBe(1_030_000);
    expect(boundsOfTile(createSwiss({ alignTopLeft: true }), 1, 0, 0).maxY).toBe(1_350_000);
  });

  it('a grid set has no row or column for less than a hundredth of a tile', () => {
    const extent = { minX: 0, minY: 0, maxX: 256 * 10.009, maxY: 256 * 10.02 };
    const gridSet = createGridSet({ name: 'g', srs: 1, extent, resolutions: [1] });
    expect(levelOf(gridSet, 0)).toMatchObject({ columns: 10, rows: 11 });
    const sliver = { minX: 2561, minY: 0, maxX: 2562, maxY: 100 };
    expect(tilesOfBounds(gridSet, 0, sliver)).toBeNull();
  });

  it('a grid set reads scales by the size of a pixel and the length of a unit', () => {
    const byScale = createGridSet(without('resolutions', { scaleDenominators: [1_000_000, 50_000] }));
    expect(levelOf(byScale, 0).resolution).toBeCloseTo(280, 10);
    expect(levelOf(byScale, 1).resolution).toBeCloseTo(14, 10);
    expect(byScale.levels.map((level) => level.scaleDenominator)).toEqual([1_000_000, 50_000]);
    const feet = createGridSet(
      without('resolutions', { scaleDenominators: [1_000_000], metersPerUnit: 0.3048 }),
    );
    expect(levelOf(feet, 0).resolution).toBeCloseTo(918.635, 3);
  });

  it('a grid set in EPSG:4326 has degrees as its unit', () => {
    const gridSet = createGridSet({
      name: 'g',
      srs: 4326,
      extent: { minX: 5, minY: 45, maxX: 11, maxY: 48 },
      resolutions: [0.01],
    });
    expect(levelOf(gridSet, 0).scaleDenominator).toBeCloseTo((0.01 * 111319.49079327358) / 0.00028, 3);
  });

  it('a grid set makes its levels from their number', () => {
    const gridSet = createGridSet(without('resolutions', { levels: 3 }));
    expect(gridSet.levels.map(({ columns, rows }) => [columns, rows])).toEqual([
      [2, 1],
      [3, 2],
      [6, 4],
    ]);
    const tall = createGridSet({
      name: 'tall',
      srs: 1,
      extent: { minX: 0, minY: 0, maxX: 100, maxY: 300 },
      levels: 31,
    });
    expect(levelOf(tall, 30)).toMatchObject({ columns: 2 ** 30, rows: 3 * 2 ** 30 });
  });

  it.each<[string, Partial<GridSetOptions>]>([
    ['exactly one of', { levels: 3 }],
    ['fall from level to level', { resolutions: [1, 1] }],
    ['fall from level to level', { resolutions: [1, Number.NaN] }],
    ['fall from level to level', { resolutions: [1, -1] }],
    ['1 to 31 levels', { resolutions: [] }],
    ['1 to 31 levels', { resolutions: Array.from({ length: 32 }, (_, z) => 100 - z) }],
    ['an extent with', { extent: { minX: 1, minY: 0, maxX: 1, maxY: 1 } }],
    ['an extent with', { extent: { minX: 0, minY: Number.NaN, maxX: 1, maxY: 1 } }],
    ['an extent with', { extent: { minX: 0, minY: 0, maxX: Number.POSITIVE_INFINITY, maxY: 1 } }],
    ['tiles of 1 to 4096 pixels', { tileWidth: 0 }],
    ['tiles of 1 to 4096 pixels', { tileHeight: 2.5 }],
    ['positive metersPerUnit', { metersPerUnit: 0 }],
    ['positive pixelSize', { pixelSize: Number.NaN }],
    ['the number of an SRS', { srs: Number.NaN }],
    ['level names', { levelNames: ['a', 'b'] }],
    ['level names', { levelNames: ['a', 'b', 'c', 'd', 'a'] }],
    ['too fine', { resolutions: [1e-9] }],
    ['needs a name', { name: '' }],
  ])('a grid set is refused with the words “%s”: %o', (message, changes) => {
    expect(() => createSwiss(changes)).toThrow(message);
  });

  it.each([0, 32, 1e9, 2.5, Number.NaN])('a grid set is refused with %d levels', (levels) => {
    expect(() => createGridSet(without('resolutions', { levels }))).toThrow('1 to 31 levels');
  });

  it('a grid set has no level beyond its last', () => {
    expect(() => levelOf(createSwiss({}), 5)).toThrow('no zoom level 5; it has 0 to 4');
    expect(() => levelOf(createSwiss({}), -1)).toThrow('no zoom level');
    expect(() => levelOf(createSwiss({}), 0.5)).toThrow('no zoom level');
  });

  it('a grid set has no tiles in bounds that are outside, empty or not numbers', () => {
    const gridSet = createSwiss({});
    const { extent } = gridSet;
    expect(tilesOfBounds(gridSet, 0, { ...extent, minX: 3_000_000, maxX: 4_000_000 })).toBeNull();
    expect(tilesOfBounds(gridSet, 0, { ...extent, maxX: extent.minX })).toBeNull();
    expect(tilesOfBounds(gridSet, 0, { ...extent, maxX: Number.NaN })).toBeNull();
  });
});

describe('a tile', () => {
  function expectRoundTrip(gridSet: GridSet, z: number, x: number, y: number): void {
    const rect = tilesOfBounds(gridSet, z, boundsOfTile(gridSet, z, x, y));
    expect(rect).toEqual({ minX: x, minY: y, maxX: x, maxY: y });
  }

  it('a tile is found again by its bounds, at the corners of every level of every built-in grid set', () => {
    for (const gridSet of builtInGridSets()) {
      for (const [z, { columns, rows }] of gridSet.levels.entries()) {
        expectRoundTrip(gridSet, z, 0, 0);
        expectRoundTrip(gridSet, z, columns - 1, rows - 1);
      }
    }
  });

  it('a tile is found again by its bounds, anywhere in any grid set', () => {
    fc.assert(
      fc.property(anyPlace(anyGridSet()), ({ gridSet, z, x, y }) => expectRoundTrip(gridSet, z, x, y)),
      { numRuns: 2000 },
    );
  });

  it('a tile shares its edges with its neighbours to the last bit', () => {
    fc.assert(
      fc.property(anyPlace(anyGridSet()), ({ gridSet, z, x, y }) => {
        const tile = boundsOfTile(gridSet, z, x, y);
        expect(boundsOfTile(gridSet, z, x + 1, y).minX).toBe(tile.maxX);
        expect(boundsOfTile(gridSet, z, x, y + 1).maxY).toBe(tile.minY);
      }),
    );
  });

  it('a tile is within the extent for a hundredth of its side at least', () => {
    fc.assert(
      fc.property(anyPlace(customGridSet()), ({ gridSet, z, x, y }) => {
        const level = levelOf(gridSet, z);
        const { minX, minY, maxX, maxY } = boundsOfTile(gridSet, z, x, y);
        const { extent } = gridSet;
        const inX = Math.min(maxX, extent.maxX) - Math.max(minX, extent.minX);
        const inY = Math.min(maxY, extent.maxY) - Math.max(minY, extent.minY);
        const whole = Math.min(level.columns, level.rows) === 1;
        expect(whole || (inX >= level.tileSpanX * 0.0099 && inY >= level.tileSpanY * 0.0099)).toBe(true);
      }),
    );
  });
});

describe('the order of axes', () => {
  it.each([
    [4326, true],
    [4258, true],
    [3035, true],
    [31467, true],
    [2193, true],
    [3857, false],
    [900913, false],
    [2154, false],
    [25832, false],
    [27700, false],
    [2056, false],
    [32632, false],
  ])('the order of axes is that of EPSG:%i unless the grid set says otherwise', (srs, yFirst) => {
    const options = { name: 'own', srs, extent: { minX: 0, minY: 0, maxX: 10, maxY: 10 }, levels: 1 };
    expect(createGridSet(options).yCoordinateFirst).toBe(yFirst);
    expect(createGridSet({ ...options, yCoordinateFirst: !yFirst }).yCoordinateFirst).toBe(!yFirst);
  });
});
