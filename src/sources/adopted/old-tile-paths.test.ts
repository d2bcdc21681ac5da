import { describe, expect, it } from 'vitest';
import { builtInGridSets } from '../../domain/built-in-grid-sets.ts';
import { formatOf } from '../../domain/format.ts';
import { adoptOptions, type FolderAdoptOptions } from './adopt-options.ts';
import { oldTilePaths } from './old-tile-paths.ts';

const GRID_SETS = builtInGridSets();

interface Asked {
  readonly gridSet?: string;
  readonly format?: string;
  readonly layer?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Their defaults. */
  readonly usual?: Readonly<Record<string, string>>;
}

/** Rows count from the top. */
function pathsOf(options: object, z: number, x: number, y: number, asked: Asked = {}): readonly string[] {
  const adopted = adoptOptions.parse({ folder: '/old', ...options }) as FolderAdoptOptions;
  const gridSet = GRID_SETS.find(({ name }) => name === (asked.gridSet ?? 'EPSG:900913'));
  const format = formatOf(asked.format ?? 'image/png');
  if (!gridSet || !format) throw new Error('no such grid set or format');
  const parameters = asked.parameters ? new Map(Object.entries(asked.parameters)) : null;
  const values = parameters ?? new Map(Object.entries(asked.usual ?? {}));
  const wanted = { gridSet, format, parameters, values, tile: { z, x, y } };
  return oldTilePaths(adopted, wanted, asked.layer ?? 'topp:states', 'EPSG:900913');
}

const fromBelow = (z: number, y: number) => 2 ** z - 1 - y;

describe("GeoWebCache's folder", () => {
  const layout = 'geowebcache';

  it.each([
    ['EPSG:4326', 'image/png', 0, 0, 0, 'EPSG_4326_00/0_0/00_00.png'],
    ['EPSG:4326', 'image/png8', 6, 20, 30, 'EPSG_4326_06/01_01/0020_0030.png8'],
    ['EPSG:900913', 'image/jpeg', 12, 1234, 2345, 'EPSG_900913_12/009_018/001234_002345.jpeg'],
    ['EPSG:900913', 'image/gif', 3, 7, 0, 'EPSG_900913_03/1_0/07_00.gif'],
    ['EPSG:900913', 'application/vnd.mapbox-vector-tile', 1, 1, 1, 'EPSG_900913_01/0_0/01_01.pbf'],
  ])('a GeoWebCache folder has %s %s %i/%i/%i, from below, at %s', (gridSet, format, z, x, below, path) => {
    const y = fromBelow(z, below);
    expect(pathsOf({ layout }, z, x, y, { gridSet, format })).toEqual([`topp_states/${path}`]);
  });

  it.each([
    [100, '00100'],
    [101, '0101'],
    [1000, '01000'],
    [1001, '01001'],
    [1003, '1003'],
    [11, '0011'],
  ])('a GeoWebCache folder pads column %i as %s, one zero too many after a power of ten', (x, name) => {
    const [path = ''] = pathsOf({ layout }, 10, x, 0);
    expect(path.split('/').at(-1)).toBe(`${name}_1023.png`);
  });

  it('a GeoWebCache folder names parameters by their SHA-1, also where a value has an ampersand', () => {
    const style = { parameters: { STYLES: 'pophatch' }, gridSet: 'EPSG:4326' };
    expect(pathsOf({ layout }, 1, 0, 0, style)).toEqual([
      'topp_states/EPSG_4326_01_7510004a12f49fdd49a2ba366e9c4594be7e4358/0_0/00_01.png',
    ]);
    const [ambiguous = ''] = pathsOf({ layout }, 1, 0, 0, { parameters: { A: '1&B=2', B: '3' } });
    const [alike = ''] = pathsOf({ layout }, 1, 0, 0, { parameters: { A: '1', B: '2&B=3' } });
    expect(ambiguous).toBe(alike);
  });

  it('a GeoWebCache folder has zooms, columns and rows as folders with the other path generators', () => {
    expect(pathsOf({ layout, paths: 'tms' }, 4, 3, 2)).toEqual(['topp_states/EPSG_900913/4/3/13.png']);
    const parameters = { STYLES: 'pophatch' };
    expect(pathsOf({ layout, paths: 'slippy' }, 4, 3, 2, { parameters })).toEqual([
      'topp_states/EPSG_900913_7510004a12f49fdd49a2ba366e9c4594be7e4358/4/3/2.png',
    ]);
  });

  it('a GeoWebCache folder may have other names for the layer and its grid sets', () => {
    const names = { name: 'old name', gridSets: { 'EPSG:900913': 'EPSG:3857' } };
    expect(pathsOf({ layout, ...names }, 0, 0, 0)).toEqual(['old_name/EPSG_3857_00/0_0/00_00.png']);
  });

  it('a GeoWebCache folder accepts both names of 24 bit PNG', () => {
    const paths = pathsOf({ layout }, 0, 0, 0, { format: 'image/png24' });
    expect(paths.map((path) => path.split('.').at(-1))).toEqual(['png24', 'png_24']);
  });
});

describe("MapProxy's folder", () => {
  const layout = 'mapproxy';

  it.each([
    ['tc', '02/000/000/003/000/000/001.png'],
    ['mp', '02/0000/0003/0000/0001.png'],
    ['tms', '2/3/1.png'],
    ['reverse_tms', '1/3/2.png'],
    ['quadkey', '13.png'],
    ['arcgis', 'L02/R00000001/C00000003.png'],
  ])('a MapProxy folder has the layout %s', (paths, path) => {
    expect(pathsOf({ layout, paths, origin: 'nw' }, 2, 3, 1)).toEqual([path]);
    expect(pathsOf({ layout, paths }, 2, 3, fromBelow(2, 1))).toEqual([path]);
  });

  it('a MapProxy folder splits large numbers', () => {
    const wide = { layout, origin: 'nw' };
    expect(pathsOf({ ...wide, paths: 'mp' }, 27, 12345678, 98765432)).toEqual(['27/1234/5678/9876/5432.png']);
    expect(pathsOf(wide, 27, 12345678, 98765432)).toEqual(['27/012/345/678/098/765/432.png']);
  });

  it('a MapProxy folder has no quadkeys for zooms with more tiles across than they can distinguish', () => {
    const gridSet = 'EPSG:4326';
    expect(pathsOf({ layout, paths: 'quadkey', gridSet }, 1, 0, 0, { gridSet })).toEqual([]);
    expect(pathsOf({ layout, paths: 'quadkey' }, 0, 0, 0)).toEqual(['.png']);
  });

  it("a MapProxy folder may be ArcGIS's own, with its endings and levels that begin at another zoom", () => {
    const exploded = { layout, paths: 'arcgis', origin: 'nw', zoomOffset: 3 };
    expect(pathsOf(exploded, 12, 1234, 2345, { format: 'image/jpeg' })).toEqual([
      'L09/R00000929/C000004d2.jpeg',
      'L09/R00000929/C000004d2.jpg',
    ]);
    expect(pathsOf(exploded, 2, 0, 0)).toEqual([]);
  });

  it('a MapProxy folder holds one grid set, under any of its names, and default parameters only', () => {
    expect(pathsOf({ layout, gridSet: 'EPSG:3857' }, 0, 0, 0)).toHaveLength(1);
    expect(pathsOf({ layout }, 0, 0, 0, { gridSet: 'EPSG:4326' })).toEqual([]);
    expect(pathsOf({ layout, gridSet: 'EPSG:4326' }, 0, 0, 0, { gridSet: 'EPSG:4326' })).toHaveLength(1);
    expect(pathsOf({ layout }, 0, 0, 0, { parameters: { STYLES: 'dark' } })).toEqual([]);
  });
});

describe('other folders', () => {
  it('a MapCache folder has rows from below and JPEG as jpg', () => {
    const options = { layout: 'mapcache', name: 'osm', gridSets: { 'EPSG:900913': 'g' } };
    expect(pathsOf(options, 3, 2, fromBelow(3, 1))).toEqual(['osm/g/03/000/000/002/000/000/001.png']);
    const [first] = pathsOf(options, 3, 2, fromBelow(3, 1), { format: 'image/jpeg' });
    expect(first).toBe('osm/g/03/000/000/002/000/000/001.jpg');
  });

  it("a MapCache folder counts rows from the top if its grid's origin is there, and may hold one grid set", () => {
    const options = { layout: 'mapcache', name: 'osm', gridSet: 'EPSG:900913', origin: 'nw' };
    expect(pathsOf(options, 3, 2, 1)).toEqual(['osm/EPSG:900913/03/000/000/002/000/000/001.png']);
    expect(pathsOf(options, 3, 2, 1, { gridSet: 'EPSG:4326' })).toEqual([]);
  });

  it('a MapCache folder may be in the layout arcgis, or have a template', () => {
    const options = { layout: 'mapcache', name: 'osm', gridSets: { 'EPSG:900913': 'g' }, origin: 'nw' };
    expect(pathsOf({ ...options, paths: 'arcgis' }, 3, 2, 1)).toEqual(['osm/g/L03/R00000001/C00000002.png']);
    const template = '{tileset}#{grid}/{z}/{inv_x}/{inv_y}.{ext}';
    expect(pathsOf({ ...options, template }, 3, 2, 1)).toEqual(['osm#g/3/5/6.png']);
    expect(pathsOf({ ...options, template: '../{z}/{x}/{y}.png' }, 3, 2, 1)).toEqual([]);
  });

  it('plain tile folders have rows from below or from above', () => {
    expect(pathsOf({ layout: 'tms' }, 3, 2, 1)).toEqual(['3/2/6.png']);
    expect(pathsOf({ layout: 'xyz' }, 3, 2, 1, { format: 'image/jpeg' })).toEqual([
      '3/2/1.jpeg',
      '3/2/1.jpg',
    ]);
    expect(pathsOf({ layout: 'xyz' }, 3, 2, 1, { format: 'image/png8' })).toEqual([
      '3/2/1.png8',
      '3/2/1.png',
    ]);
  });

  it.each(['..', '.', 'a/b', '../secret', 'a\\b', 'a\0b', '/etc'])(
    'the path of a tile cannot leave its folder by a layer named %j',
    (layer) => {
      for (const layout of ['geowebcache', 'mapcache']) {
        expect(pathsOf({ layout }, 0, 0, 0, { layer })).toEqual([]);
        expect(pathsOf({ layout, name: layer }, 0, 0, 0)).toEqual([]);
      }
    },
  );

  it('the path of a tile cannot leave its folder by the name of a grid set', () => {
    const gridSets = { 'EPSG:900913': '../../etc' };
    expect(pathsOf({ layout: 'geowebcache', gridSets, paths: 'tms' }, 0, 0, 0)).toEqual([]);
    expect(pathsOf({ layout: 'mapcache', gridSets }, 0, 0, 0)).toEqual([]);
  });
});

describe('folders of dimensions', () => {
  const usual = { TIME: '2020-08-25T00:00:00Z', DIM_LEVEL: '700' };

  it.each([
    [{ layout: 'mapproxy' }, 'time-2020-08-25T00:00:00Z/dim_level-700/02/000/000/003/000/000/001.png'],
    [
      { layout: 'mapproxy', paths: 'reverse_tms', origin: 'nw' },
      'time-2020-08-25T00:00:00Z/dim_level-700/2/3/2.png',
    ],
    [
      { layout: 'mapcache' },
      'topp:states/EPSG:900913/2020-08-25T00:00:00Z/700/02/000/000/003/000/000/001.png',
    ],
    [
      { layout: 'mapcache', template: '{dim}/{dim:TIME}/{z}-{x}-{y}.png' },
      '#TIME#2020-08-25T00:00:00Z#dim_level#700/2020-08-25T00:00:00Z/2-3-1.png',
    ],
  ])('the tiles of values and of defaults have folders in %o', (options, path) => {
    const given = { ...options, dimensions: ['dim_level', 'TIME'] };
    expect(pathsOf(given, 2, 3, 2, { parameters: usual })).toEqual([path]);
    expect(pathsOf(given, 2, 3, 2, { usual })).toEqual([path]);
    expect(pathsOf(given, 2, 3, 2, { parameters: { ...usual, STYLES: 'night' } })).toEqual([]);
  });

  it('a dot or slash in a value of MapCache is a hash sign, and a slash leads to no other folder', () => {
    const parameters = { TIME: 'a/../b' };
    const dimensions = ['TIME'];
    expect(pathsOf({ layout: 'mapcache', dimensions }, 0, 0, 0, { parameters })).toEqual([
      'topp:states/EPSG:900913/a####b/00/000/000/000/000/000/000.png',
    ]);
    expect(pathsOf({ layout: 'mapproxy', dimensions }, 0, 0, 0, { parameters })).toEqual([]);
  });
});
