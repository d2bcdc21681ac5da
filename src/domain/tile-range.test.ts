import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyGridSet, anySubset, evenGutter, partOf, share } from '../../test/fixtures/layers.ts';
import type { Bounds } from './bounds.ts';
import { builtInGridSets } from './built-in-grid-sets.ts';
import { boundsOfRect, createGridSet, createGridSetRegistry, type GridSet, levelOf } from './grid-set.ts';
import {
  coverageAt,
  createGridSubset,
  type GridSubset,
  subsetContains,
  type TileRange,
  tileRangeOf,
} from './grid-subset.ts';
import {
  gutterAround,
  type Metatile,
  type MetatileSize,
  metatileAt,
  metatileImage,
  metatileOf,
} from './metatile.ts';
import { countTiles, intersectRects, rectContains, type TileRect } from './tile-rect.ts';

const registry = createGridSetRegistry(builtInGridSets());
const MERCATOR = registry.get('EPSG:900913');
/** Iterating more than this proves nothing new. */
const FEW = 3000n;

interface Case {
  readonly subset: GridSubset;
  readonly range: TileRange;
}

/** Ranges small enough to be walked tile by tile. */
function smallRange(): fc.Arbitrary<Case> {
  return fc
    .tuple(anySubset(anyGridSet()), fc.option(fc.tuple(share(), share(), share(), share())), fc.nat(3))
    .map(([subset, shares, zooms]) => {
      const bounds = shares && partOf(subset.gridSet, shares);
      const range = tileRangeOf(subset, subset.zoomStart, subset.zoomStart + zooms, bounds);
      return { subset, range };
    })
    .filter(({ range }) => countRange(range) <= FEW);
}

function metatileSize() {
  return fc.record({ columns: fc.integer({ min: 1, max: 9 }), rows: fc.integer({ min: 1, max: 9 }) });
}

function* tilesOf(z: number, { minX, minY, maxX, maxY }: TileRect): Generator<string> {
  for (let y = minY; y <= maxY; y++) for (let x = minX; x <= maxX; x++) yield `${z}/${x}/${y}`;
}

function countRange({ levels }: TileRange): bigint {
  return levels.reduce((sum, { rect }) => sum + countTiles(rect), 0n);
}

function tilesOfRange(range: TileRange): string[] {
  return range.levels.flatMap(({ z, rect }) => [...tilesOf(z, rect)]);
}

function mercatorPart(extent: Bounds, zoomStart: number, zoomStop: number): GridSubset {
  return createGridSubset(MERCATOR, { extent, zoomStart, zoomStop });
}

/** Each metatile that touches the range, once: low zooms first, row by row. Nothing is listed ahead. */
function* metatilesOf(subset: GridSubset, size: MetatileSize, range: TileRange): Generator<Metatile> {
  for (const { z, rect } of range.levels) {
    const lastRow = Math.floor(rect.maxY / size.rows);
    const lastColumn = Math.floor(rect.maxX / size.columns);
    for (let row = Math.floor(rect.minY / size.rows); row <= lastRow; row++) {
      for (let column = Math.floor(rect.minX / size.columns); column <= lastColumn; column++) {
        const metatile = metatileAt(subset, size, z, column, row);
        if (metatile) yield metatile;
      }
    }
  }
}

describe('a range of tiles', () => {
  it('a range of tiles counts all of zoom 0 to 30 to the last tile', () => {
    const range = tileRangeOf(createGridSubset(MERCATOR), 0, 30, null);
    expect(range.levels).toHaveLength(31);
    expect(countRange(range)).toBe((4n ** 31n - 1n) / 3n);
  });

  it('a range of tiles counts half a world exactly at zoom 30', () => {
    const east = { minX: 0, minY: -20037508.34, maxX: 20037508.34, maxY: 20037508.34 };
    expect(countRange(tileRangeOf(createGridSubset(MERCATOR), 30, 30, east))).toBe(2n ** 59n);
  });

  it('a range of tiles has as many tiles as an iteration over it', () => {
    fc.assert(
      fc.property(smallRange(), ({ range }) => {
        const tiles = tilesOfRange(range);
        expect(BigInt(tiles.length)).toBe(countRange(range));
        expect(new Set(tiles).size).toBe(tiles.length);
      }),
    );
  });

  it('a range of tiles contains nothing outside the subset', () => {
    fc.assert(
      fc.property(smallRange(), ({ subset, range }) => {
        for (const { z, rect } of range.levels) {
          expect(subsetContains(subset, z, rect.minX, rect.minY)).toBe(true);
          expect(subsetContains(subset, z, rect.maxX, rect.maxY)).toBe(true);
          const { columns, rows } = subset.gridSet.levels[z] ?? { columns: 0, rows: 0 };
          expect(
            rectContains({ minX: 0, minY: 0, maxX: columns - 1, maxY: rows - 1 }, rect.maxX, rect.maxY),
          ).toBe(true);
        }
      }),
    );
  });

  it('a range of tiles is clipped to the zooms and the extent of the subset', () => {
    const subset = mercatorPart({ minX: 0, minY: 0, maxX: 20037508.34, maxY: 20037508.34 }, 2, 4);
    expect(tileRangeOf(subset, 0, 30, null).levels).toEqual([
      { z: 2, rect: { minX: 2, minY: 0, maxX: 3, maxY: 1 } },
      { z: 3, rect: { minX: 4, minY: 0, maxX: 7, maxY: 3 } },
      { z: 4, rect: { minX: 8, minY: 0, maxX: 15, maxY: 7 } },
    ]);
    const elsewhere = { minX: -1000, minY: -1000, maxX: -1, maxY: -1 };
    expect(tileRangeOf(subset, 0, 30, elsewhere).levels).toEqual([]);
    expect(tileRangeOf(subset, 5, 9, null).levels).toEqual([]);
  });

  it('a range of tiles takes in each tile that its bounds reach into, and none that they only touch', () => {
    const bounds = boundsOfRect(MERCATOR, 20, { minX: 1000, minY: 2000, maxX: 1003, maxY: 2001 });
    const subset = createGridSubset(MERCATOR);
    const [exact] = tileRangeOf(subset, 20, 20, bounds).levels;
    expect(exact?.rect).toEqual({ minX: 1000, minY: 2000, maxX: 1003, maxY: 2001 });
    const pixel = 156543.03390625 / 2 ** 20;
    const [wider] = tileRangeOf(subset, 20, 20, { ...bounds, maxX: bounds.maxX + pixel }).levels;
    expect(wider?.rect.maxX).toBe(1004);
  });
});

describe('a grid subset', () => {
  it('a grid subset stops at the last level of its grid set', () => {
    expect(createGridSubset(MERCATOR, { zoomStop: 99 }).zoomStop).toBe(30);
  });

  it.each([
    { zoomStart: 5, zoomStop: 4 },
    { zoomStart: -1 },
    { zoomStart: 31 },
    { zoomStart: 0.5 },
    { zoomStop: Number.NaN },
  ])('a grid subset is refused with %o', (options) => {
    expect(() => createGridSubset(MERCATOR, options)).toThrow('must lie between 0 and zoomStop');
  });

  it('a grid subset is refused outside its grid set', () => {
    const extent = { minX: 3e7, minY: 0, maxX: 4e7, maxY: 1 };
    expect(() => createGridSubset(MERCATOR, { extent })).toThrow('outside grid set EPSG:900913');
  });

  it('a grid subset offers nothing at places without tiles', () => {
    const subset = createGridSubset(MERCATOR, { zoomStart: 1 });
    const nowhere = [
      [0, 0, 0],
      [31, 0, 0],
      [1, 2, 0],
      [1, 0, -1],
      [1, 0.5, 0],
      [1.5, 0, 0],
      [Number.NaN, 0, 0],
      [1, Number.NaN, 0],
    ] as const;
    for (const [z, x, y] of nowhere) expect(subsetContains(subset, z, x, y)).toBe(false);
    expect(subsetContains(subset, 1, 1, 1)).toBe(true);
    expect(coverageAt(subset, 0)).toBeNull();
  });
});

describe('metatiles', () => {
  it('metatiles contain each tile of a range exactly once', () => {
    fc.assert(
      fc.property(smallRange(), metatileSize(), ({ subset, range }, size) => {
        const within = new Map(range.levels.map(({ z, rect }) => [z, rect]));
        const met: string[] = [];
        for (const { z, rect } of metatilesOf(subset, size, range)) {
          const wanted = within.get(z);
          const shared = wanted && intersectRects(rect, wanted);
          if (shared) met.push(...tilesOf(z, shared));
        }
        expect(met.sort()).toEqual(tilesOfRange(range).sort());
      }),
    );
  });

  it('metatiles reach into the range they are made for, and never beyond the subset', () => {
    fc.assert(
      fc.property(smallRange(), metatileSize(), ({ subset, range }, size) => {
        const within = new Map(range.levels.map(({ z, rect }) => [z, rect]));
        for (const { z, rect } of metatilesOf(subset, size, range)) {
          const wanted = within.get(z);
          expect(wanted && intersectRects(rect, wanted)).toBeTruthy();
          expect(subsetContains(subset, z, rect.minX, rect.minY)).toBe(true);
          expect(subsetContains(subset, z, rect.maxX, rect.maxY)).toBe(true);
          expect(rect.maxX - rect.minX).toBeLessThan(size.columns);
          expect(rect.maxY - rect.minY).toBeLessThan(size.rows);
        }
      }),
    );
  });

  it('metatiles are the same whichever of their tiles is requested', () => {
    fc.assert(
      fc.property(smallRange(), metatileSize(), ({ subset, range }, size) => {
        for (const metatile of metatilesOf(subset, size, range)) {
          const { z, rect } = metatile;
          expect(metatileOf(subset, size, z, rect.minX, rect.maxY)).toEqual(metatile);
          expect(metatileOf(subset, size, z, rect.maxX, rect.minY)).toEqual(metatile);
        }
      }),
    );
  });

  it('there is no metatile for a tile that the layer does not offer, though its neighbour is', () => {
    const subset = mercatorPart({ minX: 0, minY: 0, maxX: 20037508.34, maxY: 20037508.34 }, 0, 4);
    const size = { columns: 3, rows: 3 };
    expect(metatileOf(subset, size, 2, 2, 1)?.rect).toEqual({ minX: 2, minY: 0, maxX: 2, maxY: 1 });
    expect(metatileOf(subset, size, 2, 1, 1)).toBeNull();
    expect(metatileOf(subset, size, 2, -1, 0)).toBeNull();
    expect(metatileOf(subset, size, 9, 0, 0)).toBeNull();
  });

  it('metatiles come one at a time, however many there are', () => {
    const subset = createGridSubset(MERCATOR);
    const size = { columns: 4, rows: 4 };
    const all = metatilesOf(subset, size, tileRangeOf(subset, 0, 30, null));
    const first = Array.from({ length: 3 }, () => all.next().value);
    expect(first).toMatchObject([{ z: 0 }, { z: 1 }, { z: 2 }]);
    const late = metatilesOf(subset, size, tileRangeOf(subset, 30, 30, null)).next().value;
    expect(late).toEqual({ z: 30, column: 0, row: 0, rect: { minX: 0, minY: 0, maxX: 3, maxY: 3 } });
  });
});

describe('the image of a metatile', () => {
  const metatile: Metatile = { z: 2, column: 0, row: 0, rect: { minX: 0, minY: 0, maxX: 2, maxY: 1 } };

  it('the image of a metatile has the pixels and bounds of its tiles', () => {
    const image = metatileImage(MERCATOR, metatile, evenGutter(0));
    expect([image.width, image.height]).toEqual([768, 512]);
    expect(image.bounds).toEqual(boundsOfRect(MERCATOR, 2, metatile.rect));
  });

  it('the gutter of a metatile ends at the edges of the grid', () => {
    const around = (minX: number, minY: number, pixels = 10) => {
      const rect = { minX, minY, maxX: minX + 1, maxY: minY + 1 };
      return gutterAround(MERCATOR, { ...metatile, rect }, pixels);
    };
    expect(around(0, 0)).toEqual({ left: 0, top: 0, right: 10, bottom: 10 });
    expect(around(1, 1)).toEqual(evenGutter(10));
    expect(around(2, 2)).toEqual({ left: 10, top: 10, right: 0, bottom: 0 });
    expect(around(1, 0, 1000)).toEqual({ left: 256, top: 0, right: 256, bottom: 512 });
  });

  it('the gutter ends at the extent of a grid set whose last tiles exceed it', () => {
    const degrees = createGridSet({
      name: 'ragged',
      srs: 4326,
      extent: { minX: -180, minY: -90, maxX: 180, maxY: 90 },
      resolutions: [0.69],
      alignTopLeft: true,
    });
    const metatileAtEdge = { z: 0, column: 0, row: 0, rect: { minX: 0, minY: 0, maxX: 1, maxY: 0 } };
    const gutter = gutterAround(degrees, metatileAtEdge, 20);
    expect(gutter).toEqual({ left: 0, top: 0, right: 9, bottom: 4 });
    fc.assert(
      fc.property(
        smallRange(),
        fc.integer({ min: 1, max: 5 }),
        fc.nat(300),
        ({ subset, range }, side, pixels) => {
          const { gridSet } = subset;
          for (const { z, rect } of range.levels) {
            const first = metatileOf(subset, { columns: side, rows: side }, z, rect.minX, rect.minY);
            if (!first) continue;
            const tiles = boundsOfRect(gridSet, z, first.rect);
            const { bounds } = metatileImage(gridSet, first, gutterAround(gridSet, first, pixels));
            const { resolution } = levelOf(gridSet, z);
            const near = resolution / 100;
            expect(bounds.minX).toBeGreaterThanOrEqual(Math.min(tiles.minX, gridSet.extent.minX) - near);
            expect(bounds.minY).toBeGreaterThanOrEqual(Math.min(tiles.minY, gridSet.extent.minY) - near);
            expect(bounds.maxX).toBeLessThanOrEqual(Math.max(tiles.maxX, gridSet.extent.maxX) + near);
            expect(bounds.maxY).toBeLessThanOrEqual(Math.max(tiles.maxY, gridSet.extent.maxY) + near);
          }
        },
      ),
    );
  });

  it('the image of a metatile grows by its gutter without a change of resolution', () => {
    const oblong: GridSet = createGridSet({
      name: 'oblong',
      srs: 1,
      extent: { minX: 0, minY: 0, maxX: 1000, maxY: 1000 },
      resolutions: [4, 2, 1],
      tileWidth: 100,
      tileHeight: 50,
    });
    for (const gridSet of [MERCATOR, oblong]) {
      const { bounds, width, height } = metatileImage(gridSet, metatile, evenGutter(10));
      const resolution = gridSet.levels[2]?.resolution ?? 0;
      expect((bounds.maxX - bounds.minX) / width / resolution).toBeCloseTo(1, 10);
      expect((bounds.maxY - bounds.minY) / height / resolution).toBeCloseTo(1, 10);
      expect([width, height]).toEqual([3 * gridSet.tileWidth + 20, 2 * gridSet.tileHeight + 20]);
    }
  });
});
