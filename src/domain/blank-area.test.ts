import { describe, expect, it } from 'vitest';
import { builtInGridSet } from '../../test/fixtures/mock-tiles.ts';
import { type BlankArea, blankIsRightIn, polygonOfBounds } from './blank-area.ts';
import { boundsOfRect } from './grid-set.ts';
import { createGridSubset } from './grid-subset.ts';
import { retinaSubset } from './retina.ts';

const mercator = builtInGridSet('EPSG:900913');
const degrees = builtInGridSet('EPSG:4326');
const rect = { minX: 8, minY: 4, maxX: 9, maxY: 5 };

const over = (
  bounds: Parameters<typeof polygonOfBounds>[0],
  changes: Partial<BlankArea> = {},
  crs: 'grid-set' | 'EPSG:4326' = 'grid-set',
): BlankArea => ({
  gridSet: null,
  zoomStart: 0,
  zoomStop: 30,
  area: { polygons: [polygonOfBounds(bounds)], crs },
  ...changes,
});

describe('where blank is right', () => {
  it('an area of blank tiles contains the tiles whose middle it contains, however corners are rounded', () => {
    const bounds = boundsOfRect(mercator, 4, rect);
    expect(blankIsRightIn([over(bounds)], mercator, 4, rect)).toBe(true);
    expect(blankIsRightIn([over(bounds)], mercator, 4, { ...rect, maxX: 10 })).toBe(false);
    expect(blankIsRightIn([], mercator, 4, rect)).toBe(false);
  });

  it('an area of blank tiles may be put together from several areas', () => {
    const [left, right] = [8, 9].map((x) =>
      over(boundsOfRect(mercator, 4, { ...rect, minX: x, maxX: x })),
    ) as [BlankArea, BlankArea];
    expect(blankIsRightIn([left], mercator, 4, rect)).toBe(false);
    expect(blankIsRightIn([left, right], mercator, 4, rect)).toBe(true);
  });

  it('an area of blank tiles is one place on earth in every grid set when it is given in degrees', () => {
    const area = over({ minX: 0, minY: 0, maxX: 90, maxY: 66 }, {}, 'EPSG:4326');
    expect(blankIsRightIn([area], mercator, 2, { minX: 2, minY: 1, maxX: 2, maxY: 1 })).toBe(true);
    expect(blankIsRightIn([area], mercator, 2, { minX: 1, minY: 1, maxX: 1, maxY: 1 })).toBe(false);
    expect(blankIsRightIn([area], degrees, 2, { minX: 4, minY: 1, maxX: 4, maxY: 1 })).toBe(true);
  });

  it('an area of blank tiles applies at its zooms and in its grid set by any name, for dense screens too', () => {
    const deep: BlankArea = { gridSet: 'EPSG:3857', zoomStart: 4, zoomStop: 5, area: null };
    const dense = retinaSubset(createGridSubset(mercator)).gridSet;
    const right = [3, 4, 5, 6].map((z) => blankIsRightIn([deep], mercator, z, rect));
    expect(right).toEqual([false, true, true, false]);
    expect(blankIsRightIn([deep], degrees, 4, rect)).toBe(false);
    expect(blankIsRightIn([deep], dense, 4, rect)).toBe(true);
  });

  it('an area of blank tiles leaves its holes out', () => {
    const outer = polygonOfBounds(boundsOfRect(mercator, 4, { minX: 6, minY: 2, maxX: 11, maxY: 7 }));
    const hole = polygonOfBounds(boundsOfRect(mercator, 4, rect));
    const ring: BlankArea = {
      ...over(mercator.extent),
      area: { polygons: [[...outer, ...hole]], crs: 'grid-set' },
    };
    expect(blankIsRightIn([ring], mercator, 4, rect)).toBe(false);
    expect(blankIsRightIn([ring], mercator, 4, { minX: 6, minY: 2, maxX: 7, maxY: 3 })).toBe(true);
  });
});
