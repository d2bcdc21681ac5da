import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { readXml } from '../lib/xml/read-xml.ts';
import { importMapCache } from './import-mapcache.ts';

const PARAMETERS = '<params><FORMAT>image/png</FORMAT><LAYERS>basic</LAYERS></params>';

interface Given {
  /** Inside the one tileset `t`, besides its source and cache. */
  readonly tileset?: string;
  readonly grids?: string;
  readonly source?: string;
  readonly cache?: string;
  readonly more?: string;
  readonly isThere?: (path: string) => boolean;
}

function read({
  tileset = '<grid>g</grid><format>PNG</format>',
  grids = '',
  source = `<getmap>${PARAMETERS}</getmap><http><url>http://maps.example.org/wms?</url></http>`,
  cache = '<cache name="c" type="disk"><base>/old</base></cache>',
  more = '',
  isThere = () => true,
}: Given) {
  const imported = importMapCache(
    readXml(`<mapcache><source name="s" type="wms">${source}</source>${cache}${grids}${more}
      <tileset name="t"><source>s</source><cache>c</cache>${tileset}</tileset></mapcache>`),
    { isThere },
  );
  const { refused } = checkImported(imported);
  expect(refused).toEqual([]);
  const [layer] = imported.layers;
  const reported = imported.report.entries.map(
    ({ fate, subject, element, what }) => `${fate}: ${element} of ${subject}${what && `: ${what}`}`,
  );
  return { ...imported, layer, reported };
}

const grid = (name: string, more: string, resolutions = '1000 500') =>
  `<grid name="${name}"><srs>EPSG:25832</srs><extent>280000 5076000 792000 5588000</extent>
   <resolutions>${resolutions}</resolutions><size>256 256</size>${more}</grid>`;

describe('a tileset of mapcache.xml whose source is not a WMS', () => {
  const more = `<source name="tif" type="gdal"><data>/old/world.tif</data></source>
    <tileset name="only"><source>tif</source><cache>c</cache><grid>g</grid><format>PNG</format></tileset>`;

  it('a MapCache tileset without a WMS shows the tiles of its cache, and no others', () => {
    const { layers, reported } = read({ more });
    expect(layers).toContainEqual(
      expect.objectContaining({
        name: 'only',
        source: { type: 'layers', of: [] },
        onMiss: 'not-found',
        adopt: [expect.objectContaining({ layout: 'mapcache', folder: '/old' })],
      }),
    );
    expect(reported).toContainEqual(
      expect.stringMatching(/^changed: source of layer only: is not a WMS: tiles of the cache are shown/),
    );
  });

  it('a MapCache tileset without a WMS and without tiles is left out', () => {
    const { layers, reported } = read({ more, isThere: () => false });
    expect(layers.map(({ name }) => name)).toEqual(['t']);
    expect(reported).toContainEqual(
      expect.stringMatching(/all of it of layer only: .* there are no tiles of it/),
    );
  });
});

describe('the caches of mapcache.xml', () => {
  const adopted = (cache: string, isThere?: (path: string) => boolean) =>
    read({ cache: `<cache name="c" ${cache}</cache>`, ...(isThere && { isThere }) }).layer?.adopt;
  const place = { gridSet: 'EPSG:900913', gridSets: { 'EPSG:900913': 'g' }, origin: 'sw' };

  it('MapCache caches by template and in the layout arcgis are adopted', () => {
    expect(
      adopted(
        'type="disk" layout="template"><template>/old/a/{tileset}#{grid}/{z}/{x}/{inv_y}.{ext}</template>',
      ),
    ).toEqual([
      { layout: 'mapcache', folder: '/old/a', template: '{tileset}#{grid}/{z}/{x}/{inv_y}.{ext}', ...place },
    ]);
    expect(
      adopted('type="disk" layout="template"><template>/old/{dim}/{z}/{x}/{y}</template>'),
    ).toBeUndefined();
    expect(adopted('type="disk" layout="arcgis"><base>/old</base>')).toEqual([
      { layout: 'mapcache', folder: '/old', paths: 'arcgis', ...place },
    ]);
  });

  it('MapCache caches of type sqlite3 are adopted with one file, or one for each zoom', () => {
    expect(adopted('type="sqlite3"><dbfile>/old/all.db</dbfile>')).toEqual([
      { layout: 'mapcache-sqlite', folder: '/old', database: 'all.db', ...place },
    ]);
    const isThere = (path: string) => path === '/old/t/7-g.db';
    expect(adopted('type="sqlite3"><dbfile>/old/{tileset}/{z}-{grid}.db</dbfile>', isThere)).toEqual([
      { layout: 'mapcache-sqlite', folder: '/old/t', database: '{z}-g.db', ...place },
    ]);
    expect(adopted('type="sqlite3"><dbfile>/old/{div_x}.db</dbfile>')).toBeUndefined();
    expect(
      adopted('type="sqlite3"><dbfile>/old/a.db</dbfile><queries><get>select 1</get></queries>'),
    ).toBeUndefined();
  });

  it('MapCache caches in several parts are adopted by the parts that can be', () => {
    const cache = `<cache name="c" type="multitier"><cache>memory</cache><cache>disk</cache></cache>
      <cache name="memory" type="memcache"/><cache name="disk" type="disk"><base>/old</base></cache>`;
    expect(read({ cache }).layer?.adopt).toEqual([{ layout: 'mapcache', folder: '/old', ...place }]);
    const circle = '<cache name="c" type="fallback"><cache>c</cache></cache>';
    expect(read({ cache: circle }).layer?.adopt).toBeUndefined();
  });

  it('MapCache tilesets that are read only do not ask their source', () => {
    const { layer } = read({ tileset: '<grid>g</grid><format>PNG</format><read-only>true</read-only>' });
    expect(layer?.onMiss).toBe('not-found');
  });

  it.each([
    '<dimension name="dim" type="regex" default="a"><regex>^(?!.*x)[a-z]+$</regex></dimension>',
    '<dimension name="dim" type="postgresql" default="a"><list_query>select 1</list_query></dimension>',
    '<dimension name="dim" type="intervals" default="a">0/100/0</dimension>',
  ])('of values that cannot be listed only the default is served: %s', (dimension) => {
    const tileset = `<grid>g</grid><format>PNG</format><dimensions>${dimension}</dimensions>`;
    const { layer, reported } = read({ tileset });
    expect(layer?.parameters).toEqual([{ name: 'DIM', values: ['a'], default: 'a' }]);
    expect(reported.join()).toContain('only the default a is served');
    expect(read({ tileset: tileset.replace('default="a"', '') }).layer).toBeUndefined();
  });

  it('MapCache caches are adopted with the origin of their grid', () => {
    const { layer, gridSets } = read({
      grids: grid('top', '<origin>top-left</origin>'),
      tileset: '<grid>top</grid><format>PNG</format>',
    });
    expect(gridSets).toMatchObject([{ name: 'top', alignTopLeft: true }]);
    expect(layer?.adopt).toEqual([{ layout: 'mapcache', folder: '/old', gridSet: 'top', origin: 'nw' }]);
  });

  it('MapCache caches with grids of both origins are adopted grid by grid', () => {
    const { layer } = read({
      grids: `${grid('top', '<origin>top-left</origin>')}${grid('bottom', '<origin>bottom-left</origin>')}`,
      tileset: '<grid>g</grid><grid>top</grid><grid>bottom</grid><format>PNG</format>',
    });
    expect(layer?.adopt).toEqual([
      {
        layout: 'mapcache',
        folder: '/old',
        gridSet: 'EPSG:900913',
        gridSets: { 'EPSG:900913': 'g' },
        origin: 'sw',
      },
      { layout: 'mapcache', folder: '/old', gridSet: 'top', origin: 'nw' },
      { layout: 'mapcache', folder: '/old', gridSet: 'bottom', origin: 'sw' },
    ]);
  });

  it('MapCache caches of type mbtiles are adopted when they have one grid, others not', () => {
    const cache = '<cache name="c" type="mbtiles"><dbfile>/old/a.mbtiles</dbfile></cache>';
    expect(read({ cache }).layer?.adopt).toEqual([
      { layout: 'mbtiles', file: '/old/a.mbtiles', gridSet: 'EPSG:900913', origin: 'sw' },
    ]);
    const tileset = '<grid>g</grid><grid>unknown</grid><format>PNG</format>';
    expect(read({ cache, tileset }).layer?.adopt).toBeUndefined();
    const { layer, reported } = read({
      cache: '<cache name="c" type="memcache"><dbfile>/a</dbfile></cache>',
    });
    expect(layer?.adopt).toBeUndefined();
    expect(reported).toContainEqual(expect.stringMatching(/^left out: cache of layer t: .*memcache/));
  });
});

describe('the grids of mapcache.xml', () => {
  it('MapCache grids that are named like a built-in one and have other tiles become new grid sets', () => {
    const { layer, gridSets } = read({
      grids: grid('g', '') + grid('WGS84', ''),
      tileset: '<grid>g</grid><grid>WGS84</grid><format>PNG</format>',
    });
    expect(gridSets.map(({ name }) => name)).toEqual(['g', 'WGS84']);
    expect(layer?.gridSets).toEqual([{ name: 'g' }, { name: 'WGS84' }]);
  });

  it('MapCache grids with an origin on the right are left out', () => {
    const { layer, reported } = read({
      grids: grid('right', '<origin>top-right</origin>'),
      tileset: '<grid>g</grid><grid>right</grid><format>PNG</format>',
    });
    expect(layer?.gridSets).toEqual([{ name: 'EPSG:900913' }]);
    expect(reported).toContainEqual(expect.stringMatching(/^left out: .* of grid right: .*top-right/));
    expect(reported).toContainEqual(expect.stringMatching(/^left out: grid of layer t: .*right/));
  });
});

describe('the sources of mapcache.xml', () => {
  it('MapCache sources keep their headers, credentials and timeout', () => {
    const { layer, reported } = read({
      source: `<getmap>${PARAMETERS}</getmap><getfeatureinfo><info_formats>text/plain</info_formats></getfeatureinfo>
        <http><url>http://anna:pw@maps.example.org/wms?</url><connection_timeout>3</connection_timeout><timeout>40</timeout>
        <headers><Authorization>Basic eA==</Authorization><User-Agent>me</User-Agent></headers></http>`,
    });
    expect(layer).toMatchObject({
      queryable: true,
      infoFormats: ['text/plain'],
      source: {
        url: 'http://maps.example.org/wms',
        username: 'anna',
        password: 'pw',
        headers: { Authorization: 'Basic eA==' },
        timeoutSeconds: 40,
      },
    });
    expect(reported).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^left out: source.http.connection_timeout of layer t/),
        expect.stringMatching(/^left out: source.http.headers.User-Agent of layer t/),
      ]),
    );
  });
});

describe('the formats of mapcache.xml', () => {
  const format = (type: string, inner: string) => `<format name="f" type="${type}">${inner}</format>`;

  it.each([
    ['MIXED', '<transparent>PNG</transparent><opaque>JPEG</opaque>', 'image/vnd.jpeg-png'],
    ['MIXED', '<transparent>PNG8</transparent><opaque>JPEG</opaque>', 'image/vnd.jpeg-png8'],
    ['RAW', '<extension>pbf</extension><mime_type>application/vnd.mapbox-vector-tile</mime_type>', null],
    ['RAW', '<extension>webp</extension><mime_type>image/webp</mime_type>', 'image/webp'],
    ['RAW', '<extension>tif</extension><mime_type>image/tiff</mime_type>', null],
    ['PNG', '<colors>64</colors>', 'image/png8'],
    ['JPEG', '<quality>75</quality>', 'image/jpeg'],
  ])('MapCache formats of type %s with %s are %s', (type, inner, expected) => {
    const { layer } = read({ more: format(type, inner), tileset: '<grid>g</grid><format>f</format>' });
    expect(layer?.formats).toEqual(expected === null ? undefined : [expected]);
  });

  it('MapCache formats are mixed if a tileset is, and the default if it has none', () => {
    expect(read({ tileset: '<grid>g</grid><format>mixed</format>' }).layer?.formats).toEqual([
      'image/vnd.jpeg-png',
    ]);
    const more = '<default_format>JPEG</default_format>';
    expect(read({ tileset: '<grid>g</grid>', more }).layer?.formats).toEqual(['image/jpeg']);
    expect(read({ tileset: '<grid>g</grid>' }).layer?.formats).toEqual(['image/png']);
    const odd = read({ tileset: '<grid>g</grid>', more: '<default_format>TIFF</default_format>' });
    expect(odd.reported.join()).toContain('its format TIFF is not served here');
  });
});

describe('the report about mapcache.xml', () => {
  it('the report about mapcache.xml names every element and attribute, taken, changed or left out', () => {
    const { reported } = read({
      cache: '<cache name="c" type="disk" x_attribute="1"><base>/old</base><symlink_blank/></cache>',
      grids: grid('mine', '<units>m</units><x_grid/>'),
      source: `<getmap>${PARAMETERS}<x_getmap/></getmap><x_source/><http><url>http://maps.example.org/</url><x_http/></http>`,
      more: '<lock_dir>/tmp</lock_dir><cache name="unused" type="disk"/>',
      tileset: `<grid x_link="1">mine</grid><format>PNG</format><watermark>/w.png</watermark>
        <metadata><title>T</title><keyword>k</keyword></metadata>`,
    });
    const left = [
      'cache.@x_attribute of layer t',
      'cache.symlink_blank of layer t',
      'source.getmap.x_getmap of layer t',
      'source.x_source of layer t',
      'source.http.x_http of layer t',
      'grid.@x_link of layer t',
      'watermark of layer t',
      'metadata.keyword of layer t',
      'units of grid mine',
      'x_grid of grid mine',
      'lock_dir of mapcache',
      'all of it of cache unused',
    ];
    for (const one of left)
      expect(
        reported.filter((line) => line.startsWith(`left out: ${one}`)),
        one,
      ).not.toEqual([]);
  });
});

describe('the dimensions of mapcache.xml', () => {
  const withDimension = (dimension: string) =>
    read({ tileset: `<grid>g</grid><dimensions>${dimension}</dimensions>` });

  it.each([
    [
      '<dimension type="values" name="time" default="2020"><value>2020</value><value>2021</value></dimension>',
      { name: 'TIME', values: ['2020', '2021'], default: '2020' },
    ],
    [
      '<dimension type="values" name="DIM1" default="a">a,b</dimension>',
      { name: 'DIM1', values: ['a', 'b'], default: 'a' },
    ],
    [
      '<dimension type="regex" name="MAP" default="/a.map"><regex>/[a-z]+[.]map</regex></dimension>',
      { name: 'MAP', regex: '/[a-z]+[.]map', default: '/a.map' },
    ],
    [
      '<dimension type="intervals" name="ELEVATION" default="0">0/2000/1000</dimension>',
      { name: 'ELEVATION', values: ['0', '1000', '2000'], default: '0' },
    ],
  ])('the MapCache dimension %s is a parameter, and its folders are adopted', (dimension, parameter) => {
    const { layer } = withDimension(dimension);
    const name = /name="(\w+)"/.exec(dimension)?.[1];
    expect(layer).toMatchObject({ parameters: [parameter], adopt: [{ dimensions: [name] }] });
  });

  const TWO = '<dimension type="values" name="b" default="1">1,2</dimension>'.concat(
    '<dimension type="values" name="a" default="x">x,y</dimension>',
  );
  it.each([
    ['type="sqlite3"><dbfile>/old/t.db</dbfile>', ['b', 'a']],
    ['type="disk" layout="template"><template>/old/{tileset}/{dim}/{z}/{x}/{y}.{ext}</template>', ['b', 'a']],
    ['type="disk" layout="template"><template>/old/{dim:a}/{dim:b}/{z}/{x}/{y}.{ext}</template>', ['b', 'a']],
    ['type="disk" layout="template"><template>/old/{dim:a}/{z}/{x}/{y}.{ext}</template>', null],
    ['type="mbtiles"><dbfile>/old/t.mbtiles</dbfile>', null],
  ])('a MapCache cache is adopted if it keeps the values of dimensions apart: %s', (cache, dimensions) => {
    const { layer } = read({
      tileset: `<grid>g</grid><dimensions>${TWO}</dimensions>`,
      cache: `<cache name="c" ${cache}</cache>`,
    });
    expect(layer?.adopt).toEqual(dimensions ? [expect.objectContaining({ dimensions })] : undefined);
  });

  it.each([
    ['<full_wms>assemble</full_wms>', true],
    ['<full_wms>forward</full_wms>', true],
    ['<full_wms>error</full_wms>', undefined],
    ['', undefined],
  ])('MapCache layers whose WMS has "%s" have fullWMS %s', (fullWms, expected) => {
    const more = `<service type="wms" enabled="true">${fullWms}</service>`;
    expect(read({ more }).layer?.fullWMS).toBe(expected);
  });
});

describe('a ruleset of mapcache.xml', () => {
  const rule = (zooms: string, extents: readonly string[], more = '') =>
    `<rule zoom_level="${zooms}"><visibility ${more}>${extents.map((one) => `<extent>${one}</extent>`).join('')}</visibility></rule>`;
  const [WEST, EAST] = ['280000 5076000 536000 5588000', '600000 5076000 792000 5588000'];
  const ruled = (rules: string, tileset = '', source?: string) =>
    read({
      grids: grid('utm', ''),
      more: `<ruleset name="r">${rules}</ruleset>`,
      tileset: `<grid ruleset="r">utm</grid><format>PNG</format>${tileset}`,
      ...(source && { source }),
    });
  const area = { name: 'r', srs: 'EPSG:25832', bounds: [280000, 5076000, 536000, 5588000] };

  it('the extents of all zooms clip the layer, with the hidden colour outside', () => {
    const { layer, areas, reported } = ruled(rule('0 1', [WEST], 'hidden_color="ff8000"'));
    expect(areas).toEqual([area]);
    expect(layer).toMatchObject({
      within: 'r',
      background: '#ff8000',
      gridSets: [{ name: 'utm', zoomStop: 1 }],
      source: { type: 'wms' },
    });
    expect(layer).not.toHaveProperty('adopt');
    expect(reported.join('\n')).toMatch(
      /changed: ruleset of layer t: tiles across the edge.*hides parts of its tiles/s,
    );
  });

  it('extents of some zooms clip parts, and other zooms are shown whole', () => {
    const { layer, areas } = ruled(rule('1', [WEST, EAST], 'hidden_color="0x00ffffff"') + rule('0', []));
    expect(areas).toEqual([expect.objectContaining({ name: 'r', geojson: expect.anything() })]);
    const source = expect.objectContaining({ type: 'wms' });
    expect(layer?.source).toEqual({
      type: 'layers',
      of: [
        { source, zooms: [0, 0] },
        { source, zooms: [1, 1], within: 'r' },
      ],
    });
  });

  it('zooms that only some versions of MapCache have are not shown', () => {
    const { layer } = read({
      more: `<ruleset name="r">${rule('12', ['0 0 1000 1000'])}</ruleset>`,
      tileset: '<grid ruleset="r">g</grid><format>PNG</format>',
    });
    expect(layer).toMatchObject({ gridSets: [{ name: 'EPSG:900913', zoomStop: 17 }] });
    expect(layer?.source).toMatchObject({ of: [{}, { zooms: [12, 12] }, { zooms: [13, 17] }] });
  });

  it.each([
    ['read-only zooms', '<rule zoom_level="0"><readonly>true</readonly></rule>', '', 'has readonly'],
    ['a half-transparent colour', rule('0 1', [WEST], 'hidden_color="80ff0000"'), '', 'half transparent'],
    ['a colour at some zooms', rule('0', [WEST], 'hidden_color="ff0000"'), '', 'at some zooms only'],
    ['an extent of three numbers', rule('0', ['1 2 3']), '', 'four numbers'],
    ['several grids', rule('0', [WEST]), '<grid>g</grid>', 'one of several grids'],
    ['tiles of the cache only', rule('0', [WEST]), '<read-only>true</read-only>', 'shown whole here'],
  ])('with %s the tileset is left out', (_, rules, tileset, why) => {
    const { layers, reported } = ruled(rules, tileset);
    expect(layers).toEqual([]);
    expect(reported.join()).toMatch(new RegExp(`left out: all of it of layer t: .*${why}`));
  });
});
