import { resolve } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkImported } from '../config/check-imported.ts';
import { importMapProxy } from './import-mapproxy.ts';

interface Given {
  /** Of the layer's one cache. */
  readonly cache?: string;
  readonly source?: string;
  readonly more?: string;
  readonly layer?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly isThere?: (path: string) => boolean;
}

const WMS = "type: wms, req: { url: 'http://maps.example.org/wms', layers: a }";
const TILES = "type: tile, url: 'http://tiles.example.org/%(z)s/%(x)s/%(y)s.png'";

/** The layer `a` with the cache `c` and the source `s`. */
function read({ cache = '', source = WMS, more = '', layer = '', files = {}, isThere }: Given) {
  const yaml = `
layers: [{ name: a, title: A, sources: [c]${layer && `, ${layer}`} }]
caches: { c: { sources: [s]${cache && `, ${cache}`} } }
sources: { s: { ${source} } }
${more}`;
  const imported = importMapProxy(load(yaml), {
    folder: '/mp',
    resolve,
    isThere: isThere ?? (() => true),
    readText: (path) => files[path] ?? null,
  });
  const { refused } = checkImported(imported);
  expect(refused).toEqual([]);
  const [only] = imported.layers;
  const reported = imported.report.entries.map(
    ({ fate, subject, element, what }) => `${fate}: ${element} of ${subject}${what && `: ${what}`}`,
  );
  return { ...imported, layer: only, reported };
}

const UTM = `
grids:
  utm_nw: { srs: 'EPSG:25832', bbox: [243900, 4427757, 756099, 6655205], origin: nw, res: [1000, 500, 100] }
  utm_sw: { srs: 'EPSG:25832', bbox: [243900, 4427757, 756099, 6655205], origin: sw, res: [1000, 500, 100] }
  utm_twin: { base: utm_nw, num_levels: 3 }
  square_nw: { srs: 'EPSG:25832', bbox: [0, 5000000, 512000, 5512000], origin: nw, res: [1000, 500] }
  square_sw: { base: square_nw, origin: sw }
  square_512: { base: square_nw, tile_size: [512, 512] }
  square_deep: { base: square_nw, res: [1000, 500, 250] }
  square_3857: { base: square_nw, srs: 'EPSG:3857' }
`;

describe('the grids of mapproxy.yaml', () => {
  it('MapProxy caches and sources without a grid have GLOBAL_MERCATOR, with rows from the bottom', () => {
    const { layer } = read({ source: TILES });
    expect(layer?.source).toMatchObject({ type: 'xyz', url: 'http://tiles.example.org/{z}/{x}/{-y}.png' });
    expect(layer?.adopt).toEqual([
      {
        layout: 'mapproxy',
        folder: '/mp/cache_data/c_EPSG900913',
        gridSet: 'EPSG:900913',
        paths: 'tc',
        origin: 'sw',
      },
    ]);
  });

  it('the grid of a MapProxy tile source decides how its rows count, whatever those of its cache do', () => {
    const top = read({ source: `${TILES}, grid: GLOBAL_WEBMERCATOR`, cache: 'grids: [GLOBAL_MERCATOR]' });
    expect(top.layer?.source).toMatchObject({ url: 'http://tiles.example.org/{z}/{x}/{y}.png' });
    expect(top.layer?.adopt).toMatchObject([{ origin: 'sw' }]);
    const bottom = read({ source: TILES, cache: 'grids: [GLOBAL_WEBMERCATOR]' });
    expect(bottom.layer?.source).toMatchObject({ url: 'http://tiles.example.org/{z}/{x}/{-y}.png' });
    expect(bottom.layer?.adopt).toMatchObject([{ origin: 'nw' }]);
  });

  it('grids of a MapProxy cache that are not those of its tile source are left out', () => {
    const source = `${TILES}, grid: square_sw`;
    const grids = 'grids: [GLOBAL_MERCATOR, square_nw, square_512, square_3857, utm_nw]';
    const { layer, reported } = read({ source, cache: grids, more: UTM });
    expect(layer).toMatchObject({
      gridSets: ['square_nw'],
      source: { url: 'http://tiles.example.org/{z}/{x}/{-y}.png', gridSets: { square_nw: {} } },
    });
    for (const grid of ['GLOBAL_MERCATOR', 'square_512', 'square_3857', 'utm_nw']) {
      expect(reported).toContain(
        `left out: cache.grids of layer a: the tiles of ${grid} are not those of the source's grid square_sw`,
      );
    }
    const none = read({ source: `${TILES}, grid: utm_sw`, cache: 'grids: [utm_nw]', more: UTM });
    expect(none.layers).toEqual([]);
  });

  it('grids of a MapProxy cache end where those of its tile source do', () => {
    const deep = read({ source: `${TILES}, grid: square_nw`, cache: 'grids: [square_deep]', more: UTM });
    expect(deep.layer?.gridSets).toEqual([{ name: 'square_deep', zoomStop: 1 }]);
  });

  it('MapProxy grids have the tile size of globals, and resolutions with names', () => {
    const more = `
globals: { grid: { tile_size: [512, 512] } }
grids: { g: { srs: 'EPSG:25832', bbox: [0, 0, 512000, 512000], origin: nw, res: [[fine, 500], [coarse, 1000]] } }`;
    const { gridSets } = read({ cache: 'grids: [g, GLOBAL_WEBMERCATOR]', more });
    expect(gridSets).toMatchObject([
      { name: 'g', resolutions: [1000, 500], tileSize: [512, 512] },
      { name: 'GLOBAL_WEBMERCATOR', tileSize: [512, 512] },
    ]);
  });

  it('MapProxy grids with resolutions of another grid have those between their first and last', () => {
    const fields = "srs: 'EPSG:3857', bbox: [0, 0, 500000, 500000], align_resolutions_with: GLOBAL_MERCATOR";
    const more = `grids: { g: { ${fields}, min_res: 500, max_res: 150 } }`;
    const { gridSets } = read({ cache: 'grids: [g]', more });
    const resolutions = [305.748113, 152.874057].map((one) => expect.closeTo(one, 5));
    expect(gridSets).toMatchObject([{ name: 'g', resolutions }]);
  });

  it('MapProxy grids with a bbox in another SRS have the extent that MapProxy computes', () => {
    const more = `grids: { h: { srs: 'EPSG:25832', bbox: [5, 50, 10, 55], bbox_srs: 'EPSG:4326' } }`;
    const { gridSets } = read({ cache: 'grids: [h]', more });
    const extent = [213372.05, 5538660.65, 571666.45, 6102110.75].map((edge) => expect.closeTo(edge, 1));
    expect(gridSets).toMatchObject([{ name: 'h', srs: 25832, extent }]);
  });

  it('MapProxy grids that are named like a built-in one and have other tiles get another name', () => {
    const more = `grids: { 'EPSG:4326': { srs: 'EPSG:4326', bbox: [-180, -90, 180, 90], res: [1, 0.5], origin: nw } }`;
    const { layer, gridSets } = read({ cache: "grids: ['EPSG:4326']", more });
    expect(gridSets).toMatchObject([{ name: 'EPSG:4326 imported' }]);
    expect(layer?.gridSets).toEqual(['EPSG:4326 imported']);
  });
});

describe('the caches of mapproxy.yaml', () => {
  it.each([
    ['GLOBAL_WEBMERCATOR', 'nw'],
    ['GLOBAL_MERCATOR', 'sw'],
  ])('MapProxy caches of type mbtiles in %s are adopted with the origin %s', (grid, origin) => {
    const { layer } = read({ cache: `grids: [${grid}], cache: { type: mbtiles, filename: x.mbtiles }` });
    expect(layer?.adopt).toEqual([
      { layout: 'mbtiles', file: '/mp/cache_data/x.mbtiles', gridSet: 'EPSG:900913', origin },
    ]);
  });

  it.each([
    ['cache: { use_grid_names: true }', 'folder', '/mp/cache_data/c/GLOBAL_WEBMERCATOR'],
    ['cache_dir: ./here', 'folder', '/mp/here/c_EPSG3857'],
    ['cache: { directory: here }', 'folder', '/mp/here'],
    ['cache: { type: mbtiles, filename: ./x.mbtiles }', 'file', '/mp/x.mbtiles'],
    ['cache_dir: here, cache: { type: mbtiles, filename: x.mbtiles }', 'file', '/mp/here/x.mbtiles'],
  ])('MapProxy caches with %s are found', (cache, key, place) => {
    const { layer } = read({ cache: `grids: [GLOBAL_WEBMERCATOR], ${cache}` });
    expect(layer?.adopt).toMatchObject([{ [key]: place }]);
  });

  it('MapProxy caches in S3 and Azure are adopted, in buckets of the cache or of the globals', () => {
    const s3 = read({
      cache:
        'grids: [GLOBAL_WEBMERCATOR], cache: { type: s3, directory: /maps/osm, bucket_name: tiles, directory_layout: quadkey }',
      more: "globals: { cache: { s3: { bucket_name: other, endpoint_url: 'http://s3.example.org' } } }",
    });
    expect(s3.layer?.adopt).toMatchObject([
      { layout: 'mapproxy', bucket: 'tiles', folder: '/maps/osm', paths: 'quadkey', origin: 'nw' },
    ]);
    expect(s3.adoptBuckets).toEqual({
      tiles: { type: 's3', bucket: 'tiles', endpoint: 'http://s3.example.org', pathStyle: true },
    });
    const azure = read({ cache: 'cache: { type: azureblob, container_name: tiles }' });
    expect(azure.layer?.adopt).toMatchObject([
      { bucket: 'tiles', folder: 'c/GLOBAL_MERCATOR', paths: 'tms' },
    ]);
    expect(azure.adoptBuckets).toMatchObject({
      tiles: { connectionString: { env: 'AZURE_STORAGE_CONNECTION_STRING' } },
    });
    expect(read({ cache: 'cache: { type: s3 }' }).layer?.adopt).toBeUndefined();
  });

  it('buckets of one name at two endpoints have two names, and caches in one bucket share it', () => {
    const s3 = (host: string) => `{ type: s3, bucket_name: tiles, endpoint_url: 'http://${host}' }`;
    const cache = (name: string, host: string) => `${name}: { sources: [], cache: ${s3(host)} }`;
    const yaml = `
layers: [{ name: a, title: A, sources: [ca] }, { name: b, title: B, sources: [cb] }, { name: c, title: C, sources: [cc] }]
caches: { ${cache('ca', 'one.test')}, ${cache('cb', 'two.test')}, ${cache('cc', 'one.test')} }`;
    const options = { folder: '/mp', resolve, isThere: () => true, readText: () => null };
    const { layers, adoptBuckets } = importMapProxy(load(yaml), options);
    expect(adoptBuckets).toMatchObject({
      tiles: { endpoint: 'http://one.test' },
      'tiles-2': { endpoint: 'http://two.test' },
    });
    expect(layers).toMatchObject([
      { adopt: [{ bucket: 'tiles' }] },
      { adopt: [{ bucket: 'tiles-2' }] },
      { adopt: [{ bucket: 'tiles' }] },
    ]);
  });

  it('MapProxy caches with several grids in one MBTiles file are not adopted', () => {
    const { layer, reported } = read({
      cache: 'grids: [GLOBAL_WEBMERCATOR, GLOBAL_GEODETIC], cache: { type: mbtiles }',
    });
    expect(layer?.adopt).toBeUndefined();
    expect(reported).toContainEqual(expect.stringMatching(/^left out: cache of layer a: .*one file/));
  });

  it('MapProxy caches that share a file or folder with a grid that is not imported are not adopted', () => {
    const source = `${TILES}, grid: square_sw`;
    const file = read({ source, cache: 'grids: [square_sw, utm_sw], cache: { type: mbtiles }', more: UTM });
    const folder = read({ source, cache: 'grids: [square_sw, utm_sw]', more: UTM });
    const named = read({
      source,
      cache: 'grids: [square_sw, utm_sw], cache: { use_grid_names: true }',
      more: UTM,
    });
    expect([file.layer?.adopt, folder.layer?.adopt]).toEqual([undefined, undefined]);
    expect(named.layer?.adopt).toMatchObject([{ folder: '/mp/cache_data/c/square_sw' }]);
    expect(folder.reported).toContainEqual(expect.stringMatching(/^left out: cache of layer a: one folder/));
  });

  it.each([
    [
      'format: image/jpeg, image: { encoding_options: { jpeg_quality: 60 } }',
      { type: 'image/jpeg', quality: 60 },
    ],
    ['format: fine', { type: 'image/jpeg', quality: 95 }],
    ['format: few', { type: 'image/png8', colors: 16 }],
    ['format: image/png, image: { colors: 16, encoding_options: { jpeg_quality: 60 } }', 'image/png'],
  ])('MapProxy caches with %s have tiles in %j', (cache, format) => {
    const fine = 'fine: { format: image/jpeg, encoding_options: { jpeg_quality: 95 } }';
    const few = "few: { format: 'image/png; mode=8bit', colors: 16 }";
    const more = `globals: { image: { formats: { ${fine}, ${few} } } }`;
    expect(read({ cache, more }).layer?.formats).toEqual([format]);
  });

  it('MapProxy caches decide how long tiles are kept, and their formats in the store and upstream', () => {
    const { layer } = read({
      cache:
        'format: mixed, request_format: image/png, refresh_before: { days: 1, hours: 2 }, meta_size: [2, 3]',
      more: 'globals: { tiles: { expires_hours: 3 }, cache: { meta_buffer: 7 } }',
    });
    expect(layer).toMatchObject({
      formats: [{ type: 'image/vnd.jpeg-png', quality: 90 }],
      source: { requestFormat: 'image/png' },
      expireCache: 93600,
      expireClients: 10800,
      metatile: [2, 3],
      gutter: 7,
    });
  });
});

describe('the sources of mapproxy.yaml', () => {
  it('MapProxy sources keep the settings of their requests', () => {
    const { layer, reported } = read({
      source: `${WMS}, concurrent_requests: 3, wms_opts: { version: 1.3.0, featureinfo: true, legendgraphic: true },
        http: { client_timeout: 90, method: POST, headers: { Authorization: Bearer x, User-Agent: me }, ssl_no_cert_checks: true }`,
    });
    expect(layer).toMatchObject({
      queryable: true,
      legends: [{}],
      source: {
        version: '1.3.0',
        concurrency: 3,
        timeoutSeconds: 90,
        maxUrlLength: 200,
        headers: { Authorization: 'Bearer x' },
      },
    });
    expect(layer?.source).not.toMatchObject({ headers: { 'User-Agent': 'me' } });
    expect(reported).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^left out: source.http.ssl_no_cert_checks of layer a: certificates/),
        expect.stringMatching(/^left out: source.http.headers.User-Agent of layer a/),
      ]),
    );
  });

  it('MapProxy sources have the timeout and the headers of globals', () => {
    const more = 'globals: { http: { client_timeout: 5, headers: { X-Key: k } } }';
    expect(read({ source: TILES, more }).layer?.source).toMatchObject({
      timeoutSeconds: 5,
      headers: { 'X-Key': 'k' },
    });
  });

  it.each([
    ["coverage: { datasource: 'PG: dbname=x', srs: 'EPSG:3857' }", 'has a coverage that cannot be read'],
    ['http: { headers: { Key: Bearer $KEY } }', 'has the variable $KEY inside a text'],
    ["supported_srs: ['EPSG:31467']", 'has none of the SRS of its grids in supported_srs'],
  ])('MapProxy layers whose source has %s are left out', (field, why) => {
    const { layer, reported } = read({ source: `${WMS}, ${field}` });
    expect(layer).toBeUndefined();
    expect(reported).toContainEqual(
      expect.stringContaining(`left out: all of it of layer a: its source s ${why}`),
    );
  });

  it('MapProxy sources are asked for web mercator by the name that they know', () => {
    const srs = (given: Given) => (read(given).layer?.source as { srs?: object } | undefined)?.srs;
    expect(srs({})).toEqual({ 900913: 'EPSG:900913' });
    expect(srs({ cache: 'grids: [GLOBAL_WEBMERCATOR]' })).toBeUndefined();
    expect(srs({ source: `${WMS}, supported_srs: ['EPSG:4326', 'EPSG:3857']` })).toBeUndefined();
    const known = `${WMS}, supported_srs: ['EPSG:900913']`;
    expect(srs({ source: known, cache: 'grids: [GLOBAL_WEBMERCATOR]' })).toEqual({ 900913: 'EPSG:900913' });
  });

  it('MapProxy sources are asked for a format that can be read here', () => {
    const { layer, reported } = read({ cache: 'format: image/jpeg, request_format: image/tiff' });
    expect(layer?.source).not.toHaveProperty('requestFormat');
    expect(reported).toContainEqual(
      expect.stringMatching(/^changed: request_format .*image\/tiff cannot be read/),
    );
  });

  it('MapProxy sources with seed_only are never asked for a client', () => {
    expect(read({ source: `${WMS}, seed_only: true` }).layer).toMatchObject({ onMiss: 'not-found' });
    expect(read({ source: `${TILES}, seed_only: true` }).layer).toMatchObject({ onMiss: 'not-found' });
  });

  it('a source of type arcgis is one of ours', () => {
    const url = 'http://maps.example.org/arcgis/rest/services/a/MapServer';
    const source = `type: arcgis, req: { url: '${url}/export', layers: 'show:0,1', transparent: true, layerDefs: '0:a=1' }, opts: { featureinfo: true }`;
    const { layer } = read({ source });
    expect(layer).toMatchObject({
      source: {
        type: 'arcgis',
        url,
        layers: 'show:0,1',
        transparent: true,
        parameters: { layerDefs: '0:a=1' },
      },
      queryable: true,
      infoFormats: ['application/json', 'text/html'],
    });
    expect(
      read({ source: "type: arcgis, req: { url: 'http://maps.example.org/arcgis' }" }).layer,
    ).toBeUndefined();
  });

  it.each([
    ['tc_path', 'GLOBAL_MERCATOR', '{-tilecache}'],
    ['tc_path', 'GLOBAL_WEBMERCATOR', '{tilecache}'],
    ['arcgiscache_path', 'GLOBAL_WEBMERCATOR', '{arcgis}'],
  ])('MapProxy tile sources with %s in the grid %s have %s in their address', (place, grid, ours) => {
    const source = `type: tile, grid: ${grid}, url: 'http://tiles.example.org/%(${place})s.png'`;
    const { layer } = read({ source, cache: `grids: [${grid}]` });
    expect(layer?.source).toMatchObject({ url: `http://tiles.example.org/${ours}.png` });
  });
});

describe('the layers of mapproxy.yaml', () => {
  const TIMES = "time: { values: ['2020', '2021'], default: '2020' }";

  it('MapProxy layers answer full WMS requests unless WMS is not among the services', () => {
    expect(read({}).layer).toMatchObject({ fullWMS: true });
    expect(read({ more: 'services: { wms: }' }).layer).toMatchObject({ fullWMS: true });
    expect(read({ more: 'services: { tms: }' }).layer).not.toHaveProperty('fullWMS');
  });

  it('dimensions of a MapProxy layer that reach its source are parameters', () => {
    const source = `${WMS}, forward_req_params: [TIME, Elevation]`;
    const layer = `dimensions: { ${TIMES}, elevation: { values: [0, 1000] }, run: { values: [a, b] } }`;
    const { layer: made, reported } = read({ source, layer });
    expect(made?.parameters).toEqual([
      { name: 'TIME', values: ['2020', '2021'], default: '2020' },
      { name: 'ELEVATION', values: ['0', '1000'], default: '1000' },
    ]);
    expect(reported).toContainEqual(expect.stringMatching(/^left out: dimensions.run .*does not reach/));
    expect(made?.adopt).toMatchObject([{ layout: 'mapproxy', dimensions: ['time', 'elevation'] }]);
    const others = read({ source, layer, cache: 'cache: { type: s3, bucket_name: tiles }' });
    expect(others.layer?.adopt).toBeUndefined();
  });

  it('an interval of times of a MapProxy layer is a parameter of times', () => {
    const source = `${WMS}, forward_req_params: [time]`;
    const layer = "dimensions: { time: { values: ['2020/2021/P1Y'] } }";
    expect(read({ source, layer }).layer?.parameters).toEqual([
      { name: 'TIME', type: 'time', values: ['2020/2021/P1Y'], default: 'latest' },
    ]);
  });

  it('MapProxy layers without a cache, also of some layers of a WMS, are requested each time', () => {
    const yaml = `
layers: [{ name: a, title: A, sources: ['s:y,x'] }, { name: b, title: B, sources: ['s:z'] }]
sources: { s: { type: wms, req: { url: 'http://maps.example.org/wms', layers: 'x,y' } } }`;
    const options = { folder: '/mp', resolve, isThere: () => false, readText: () => null };
    const { layers, report } = importMapProxy(load(yaml), options);
    expect(layers).toMatchObject([{ name: 'a', source: { layers: 'y,x' }, expireCache: -1, fullWMS: true }]);
    expect(report.entries).toContainEqual(
      expect.objectContaining({ subject: 'layer b', what: 'its source s has no layers z in req.layers' }),
    );
  });
});

describe('the report about mapproxy.yaml', () => {
  it('the report about mapproxy.yaml names every field of every table, taken, changed or left out', () => {
    const fields = [
      'cache.x_cache, cache.cache.x_inner, source.x_source, source.http.x_http, source.wms_opts.x_opts, x_layer, md.x_md',
      'globals.x_globals, globals.cache.x_global_cache, globals.http.x_global_http, globals.image.paletted',
      'cache.image.colors, source.image.mode, cache.watermark.text, cache.link_single_color_images',
    ].flatMap((names) => names.split(', '));
    const { reported } = read({
      cache:
        'x_cache: 1, cache: { x_inner: 1 }, image: { colors: 3 }, watermark: { text: b }, link_single_color_images: true',
      source: `${WMS}, x_source: 1, min_res: 4, http: { x_http: 1 }, wms_opts: { x_opts: 1 }, image: { opacity: 0.5, mode: a }`,
      layer: 'x_layer: 1, md: { abstract: B, x_md: 1 }',
      more: `globals: { x_globals: 1, cache: { x_global_cache: 1 }, http: { x_global_http: 1 }, image: { paletted: true } }
base: other.yaml
`,
    });
    for (const field of fields) {
      const inner = field.split('.').slice(0, -1).join('.');
      expect(
        reported.filter(
          (line) => line.startsWith(`left out: ${field} of`) || line.startsWith(`left out: ${inner} of`),
        ),
        field,
      ).not.toEqual([]);
    }
    expect(reported).toContainEqual(expect.stringMatching(/^left out: base of mapproxy.yaml: .*not there/));
  });

  it('the report about mapproxy.yaml names caches and sources that no layer uses', () => {
    const { reported } = read({
      more: '',
      layer: '',
      source: `${WMS} }, unused: { ${WMS}`,
    });
    expect(reported).toContain('left out: all of it of source unused: no imported layer uses it');
  });
});
