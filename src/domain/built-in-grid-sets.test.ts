import { describe, expect, it } from 'vitest';
import { builtInGridSets } from './built-in-grid-sets.ts';
import { boundsOfTile, createGridSetRegistry, levelOf } from './grid-set.ts';
import { projectionOf } from './projection.ts';
import { isWebMercator, sameSrs } from './srs.ts';

const registry = createGridSetRegistry(builtInGridSets());

describe('the built-in grid sets', () => {
  it.each([
    ['EPSG:4326', 22, 0.703125, 2, 1],
    ['EPSG:4326x2', 22, 0.3515625, 2, 1],
    ['EPSG:900913', 31, 156543.03390625, 1, 1],
    ['EPSG:900913x2', 31, 78271.516953125, 1, 1],
    ['WebMercatorQuad', 25, 156543.033928041, 1, 1],
    ['WorldCRS84Quad', 18, 0.703125, 2, 1],
    ['GlobalCRS84Pixel', 18, 2, 1, 1],
    ['GlobalCRS84Scale', 21, 1.25764139776733, 2, 1],
    ['GoogleCRS84Quad', 19, 1.40625, 1, 1],
    ['WebMercatorQuadx2', 25, 78271.5169640205, 1, 1],
    ['WorldMercatorWGS84Quad', 25, 156543.033928041, 1, 1],
    ['UTM01WGS84Quad', 24, 78140.35726026, 1, 2],
    ['UTM60WGS84Quadx2', 24, 39070.17863013, 1, 2],
    ['UPSArcticWGS84Quad', 25, 128443.43242384, 1, 1],
    ['UPSAntarcticWGS84Quadx2', 25, 64221.71621192, 1, 1],
    ['EuropeanETRS89_LAEAQuad', 16, 17578.125, 1, 1],
    ['CanadianNAD83_LCC', 26, 38364.660062653, 2, 2],
  ])(
    'the grid set %s has %d levels from %d units a pixel, and %d × %d tiles at level 0',
    (name, levels, resolution, columns, rows) => {
      const gridSet = registry.get(name);
      const first = levelOf(gridSet, 0);
      expect(gridSet.levels).toHaveLength(levels);
      expect(first.resolution).toBeCloseTo(resolution, 8);
      expect([first.columns, first.rows]).toEqual([columns, rows]);
    },
  );

  it('built-in grid sets end at the finest pixels and scales of their standards', () => {
    expect(levelOf(registry.get('GlobalCRS84Pixel'), 17).resolution * 3600).toBeCloseTo(0.01, 12);
    expect(levelOf(registry.get('GlobalCRS84Scale'), 20).scaleDenominator).toBe(100);
    expect(levelOf(registry.get('WebMercatorQuad'), 0).scaleDenominator).toBeCloseTo(559082264.028717, 5);
    expect(levelOf(registry.get('WorldCRS84Quad'), 0).scaleDenominator).toBeCloseTo(279541132.0143589, 5);
  });

  it('built-in grid sets that are quad trees double from level to level', () => {
    for (const name of ['EPSG:4326', 'EPSG:900913', 'EPSG:900913x2', 'WebMercatorQuad', 'WorldCRS84Quad']) {
      const gridSet = registry.get(name);
      const { columns, rows } = levelOf(gridSet, 0);
      for (const [z, level] of gridSet.levels.entries()) {
        expect([name, z, level.columns, level.rows]).toEqual([name, z, columns * 2 ** z, rows * 2 ** z]);
      }
    }
  });

  it('the built-in grid sets are as many as GeoWebCache has, and have the scales that the OGC prints', () => {
    expect(registry.gridSets).toHaveLength(141);
    const scales: readonly (readonly [string, number, number])[] = [
      ['UTM33WGS84Quad', 0, 279072704.500914],
      ['UTM33WGS84Quad', 23, 33.2680588365691],
      ['EuropeanETRS89_LAEAQuad', 15, 1915.8635820661275],
      ['CanadianNAD83_LCC', 25, 236.235591518802],
      ['WorldMercatorWGS84Quad', 24, 33.3238997476528],
    ];
    for (const [name, z, scale] of scales) {
      expect(levelOf(registry.get(name), z).scaleDenominator / scale).toBeCloseTo(1, 12);
    }
    expect(levelOf(registry.get('UPSArcticWGS84Quad'), 24).scaleDenominator).toBeCloseTo(27.34223273, 7);
  });

  it.each([
    ['UTM32WGS84Quad', 500_000, 5_000_000, 9, 45.15],
    ['UPSArcticWGS84Quad', 2_000_000, 1_000_000, 0, 81],
    ['UPSAntarcticWGS84Quad', 2_000_000, 3_000_000, 0, -81],
    ['EuropeanETRS89_LAEAQuad', 4_321_000, 3_210_000, 10, 52],
    ['CanadianNAD83_LCC', 0, 0, -95, 49],
  ])('coordinates of %s can be turned into degrees', (name, x, y, longitude, latitude) => {
    const degrees = projectionOf(registry.get(name))?.toLonLat(x, y);
    expect(degrees?.[0]).toBeCloseTo(longitude, 1);
    expect(degrees?.[1]).toBeCloseTo(latitude, 1);
  });

  it('built-in grid sets have level names as clients request them', () => {
    expect(levelOf(registry.get('EPSG:4326'), 3).name).toBe('EPSG:4326:3');
    expect(levelOf(registry.get('WebMercatorQuad'), 3).name).toBe('3');
  });

  it('built-in grid sets cover the same ground with tiles of 512 pixels', () => {
    for (const name of ['EPSG:4326', 'EPSG:900913']) {
      const bounds = boundsOfTile(registry.get(name), 7, 3, 5);
      expect(boundsOfTile(registry.get(`${name}x2`), 7, 3, 5)).toEqual(bounds);
    }
  });

  it('built-in grid sets have row 0 in the north', () => {
    expect(boundsOfTile(registry.get('EPSG:4326'), 1, 0, 0)).toEqual({
      minX: -180,
      minY: 0,
      maxX: -90,
      maxY: 90,
    });
    const { minX, maxY } = boundsOfTile(registry.get('EPSG:900913'), 30, 0, 0);
    expect([minX, maxY]).toEqual([-20037508.34, 20037508.34]);
  });

  it('tiles of a built-in grid set that is aligned to its top reach below the extent', () => {
    expect(boundsOfTile(registry.get('GoogleCRS84Quad'), 0, 0, 0)).toMatchObject({ maxY: 90, minX: -180 });
    expect(boundsOfTile(registry.get('GoogleCRS84Quad'), 0, 0, 0).minY).toBeCloseTo(-270, 8);
  });

  it('built-in grid sets that common web maps can use are those in web mercator', () => {
    const usable = registry.gridSets.filter(isWebMercator).map((gridSet) => gridSet.name);
    expect(usable).toEqual(['EPSG:900913', 'EPSG:900913x2', 'WebMercatorQuad', 'WebMercatorQuadx2']);
  });
});

describe('a grid set registry', () => {
  it('the registry finds grid sets by name and by alias', () => {
    expect(registry.find('EPSG:3857')?.name).toBe('EPSG:900913');
    expect(registry.find('GoogleMapsCompatible')?.name).toBe('EPSG:900913');
    expect(registry.find('EPSG:2056')).toBeNull();
  });

  it('the registry lists its grid sets when an unknown one is requested', () => {
    expect(() => registry.get('EPSG:2056')).toThrow(
      /no grid set EPSG:2056; there are EPSG:4326, EPSG:900913/,
    );
  });

  it('the registry refuses two grid sets of one name', () => {
    const [first] = builtInGridSets();
    expect(() => createGridSetRegistry(first ? [first, first] : [])).toThrow('two grid sets named EPSG:4326');
  });

  it('the registry prefers a name to an alias', () => {
    const [geodetic, mercator] = builtInGridSets();
    if (!geodetic || !mercator) throw new Error('no built-in grid sets');
    const renamed = { ...geodetic, name: 'EPSG:3857' };
    expect(createGridSetRegistry([mercator, renamed]).find('EPSG:3857')).toBe(renamed);
  });
});

describe('codes of reference systems', () => {
  it('codes of reference systems are the same for all names of web mercator and for nothing else', () => {
    expect(sameSrs(3857, 900913)).toBe(true);
    expect(sameSrs(102100, 102113)).toBe(true);
    expect(sameSrs(4326, 4326)).toBe(true);
    expect(sameSrs(4326, 3857)).toBe(false);
  });
});
