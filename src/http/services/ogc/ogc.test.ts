import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../../../test/fixtures/accounts.ts';
import {
  catalogOf,
  createTestApp,
  format,
  layerNamed,
  type Read,
  subset,
  TILE_BYTES,
  tileResponse,
} from '../../../../test/fixtures/http-app.ts';
import { createGridSet } from '../../../domain/grid-set.ts';
import { createGridSubset, retinaSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { createAccountAccess } from '../../auth/access.ts';

const REL = 'http://www.opengis.net/def/rel/ogc/1.0/';
const ROOT = 'http://localhost/ogc';

interface Link {
  readonly href: string;
  readonly rel: string;
  readonly type?: string;
  readonly templated?: boolean;
}

function openOgc(layers: readonly Layer[] = [layerNamed('world')]) {
  const asked: { tiles: ResolvedTileSet; index: unknown }[] = [];
  const read: Read = async (tiles, index) => {
    asked.push({ tiles, index });
    return tileResponse();
  };
  const app = createTestApp({ deps: { catalog: catalogOf(layers), pipeline: { read } } });
  const get = (path: string, headers: Record<string, string> = {}) => app.request('GET', path, { headers });
  // biome-ignore lint/suspicious/noExplicitAny: documents are read freely here
  const json = async (path: string): Promise<any> => {
    const answer = await get(path);
    expect(answer.status, answer.text).toBe(200);
    return JSON.parse(answer.text);
  };
  return { get, json, asked };
}

const linkTo = (links: readonly Link[], rel: string) => links.find((link) => link.rel === rel);

describe('OGC API – Tiles', () => {
  it('the OGC API leads from the landing page to a tile by links alone', async () => {
    const { get, json, asked } = openOgc();
    const follow = (href: string | undefined) => json((href ?? '').replace('http://localhost', ''));
    const landing = await json('/ogc');
    const collections = await follow(linkTo(landing.links, 'data')?.href);
    const collection = await follow(linkTo(collections.collections[0].links, 'self')?.href);
    const tilesets = await follow(linkTo(collection.links, `${REL}tilesets-map`)?.href);
    expect(tilesets.tilesets.map((tileset: { dataType: string }) => tileset.dataType)).toEqual([
      'map',
      'map',
    ]);
    const tileset = await follow(linkTo(tilesets.tilesets[1].links, 'self')?.href);
    const scheme = await follow(linkTo(tileset.links, `${REL}tiling-scheme`)?.href);
    const template = linkTo(tileset.links, 'item');
    expect(template).toMatchObject({ type: 'image/png', templated: true });
    const tile = (template?.href ?? '')
      .replace('{tileMatrix}', scheme.tileMatrices[2].id)
      .replace('{tileRow}', '1')
      .replace('{tileCol}', '5');
    const answer = await get(tile.replace('http://localhost', ''));
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      200,
      TILE_BYTES.toString(),
      'image/png',
    ]);
    expect(asked[0]?.index).toEqual({ z: 2, x: 5, y: 1 });
    expect(asked[0]?.tiles.set.gridSet).toBe('EPSG:4326');
  });

  it('the OGC API declares its conformance classes, and encodings only of existing tiles', async () => {
    const { conformsTo } = await openOgc().json('/ogc/conformance');
    expect(conformsTo).toContain('http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/core');
    expect(conformsTo).toContain('http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/geodata-tilesets');
    expect(conformsTo).toContain('http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/jpeg');
    expect(conformsTo).not.toContain('http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/mvt');
    const vector = layerNamed('roads', { formats: [format('application/vnd.mapbox-vector-tile')] });
    expect((await openOgc([vector]).json('/ogc/conformance')).conformsTo).toContain(
      'http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/mvt',
    );
  });

  it('the OGC API defines itself with every path that it has', async () => {
    const { get, json } = openOgc();
    const { openapi, paths, servers } = await json('/ogc/api');
    expect([openapi, servers[0].url]).toEqual(['3.0.3', ROOT]);
    expect((await get('/ogc/api')).headers['content-type']).toContain('openapi+json');
    expect(Object.keys(paths)).toContain(
      '/collections/{collectionId}/map/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}',
    );
    const ids = Object.values(paths).map(
      (path) => (path as { get: { operationId: string } }).get.operationId,
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a tile matrix set', () => {
  it('a tile matrix set is that of the standard if the grid set is', async () => {
    const layer = layerNamed('world', {
      gridSubsets: [subset('WebMercatorQuad', 24), subset('WorldCRS84Quad', 17)],
    });
    const { json } = openOgc([layer]);
    const mercator = await json('/ogc/tileMatrixSets/WebMercatorQuad');
    expect(mercator).toMatchObject({
      id: 'WebMercatorQuad',
      uri: 'http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad',
      crs: 'http://www.opengis.net/def/crs/EPSG/0/3857',
      orderedAxes: ['E', 'N'],
      wellKnownScaleSet: 'http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible',
    });
    // OGC 17-083r4, annex D.1.
    expect(mercator.tileMatrices[10]).toMatchObject({
      id: '10',
      scaleDenominator: expect.closeTo(545978.773465545, 6),
      cellSize: expect.closeTo(152.874056570353, 9),
      pointOfOrigin: [expect.closeTo(-20037508.3427892, 6), expect.closeTo(20037508.3427892, 6)],
      tileWidth: 256,
      tileHeight: 256,
      matrixWidth: 1024,
      matrixHeight: 1024,
    });
    expect(await json('/ogc/tileMatrixSets/WorldCRS84Quad')).toMatchObject({
      crs: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
      orderedAxes: ['Lon', 'Lat'],
      tileMatrices: expect.arrayContaining([
        expect.objectContaining({ id: '0', pointOfOrigin: [-180, 90], matrixWidth: 2, matrixHeight: 1 }),
      ]),
    });
  });

  it('a grid set for dense screens is served when a client names it', async () => {
    const gridSubsets = [subset('WebMercatorQuad', 5)] as const;
    const dense = layerNamed('world', { gridSubsets, retinaSubsets: gridSubsets.map(retinaSubset) });
    const { get, json } = openOgc([dense]);
    expect((await json('/ogc/tileMatrixSets')).tileMatrixSets).toHaveLength(1);
    const scheme = await json('/ogc/tileMatrixSets/WebMercatorQuad@2x');
    expect(scheme.tileMatrices[3]).toMatchObject({ tileWidth: 512, matrixWidth: 8 });
    expect(scheme).not.toHaveProperty('uri');
    expect((await get('/ogc/collections/world/map/tiles/WebMercatorQuad@2x/3/1/2')).status).toBe(200);
  });

  it('a tile matrix set has coordinates in the order of its axes and is found by an alias', async () => {
    const { json } = openOgc();
    const degrees = await json('/ogc/tileMatrixSets/EPSG:4326');
    expect(degrees.tileMatrices[0].pointOfOrigin).toEqual([90, -180]);
    expect(degrees.orderedAxes).toEqual(['Lat', 'Lon']);
    expect((await json('/ogc/tileMatrixSets/EPSG:3857')).id).toBe('EPSG:900913');
  });
});

describe('a tileset', () => {
  const extent = { minX: 100_000, minY: 6_100_000, maxX: 1_200_000, maxY: 7_100_000 };
  const france = createGridSet({ name: 'LAMB93', srs: 2154, extent, resolutions: [4000, 2000, 1000] });
  const layer = layerNamed('a/b c', {
    description: 'Roads of France',
    attribution: '© the provider',
    gridSubsets: [createGridSubset(france, { zoomStart: 1 })],
  });
  const folder = '/ogc/collections/a%2Fb%20c/map/tiles/LAMB93';

  it('a tileset reports where the layer has tiles', async () => {
    const tileset = await openOgc([layer]).json(folder);
    expect(tileset).toMatchObject({
      dataType: 'map',
      crs: 'http://www.opengis.net/def/crs/EPSG/0/2154',
      attribution: '© the provider',
      description: 'Roads of France',
      mediaTypes: ['image/png', 'image/jpeg'],
    });
    expect(tileset.tileMatrixSetLimits).toEqual([
      { tileMatrix: 'LAMB93:1', minTileRow: 0, maxTileRow: 1, minTileCol: 0, maxTileCol: 2 },
      { tileMatrix: 'LAMB93:2', minTileRow: 0, maxTileRow: 3, minTileCol: 0, maxTileCol: 4 },
    ]);
    const [west, south] = tileset.boundingBox.lowerLeft;
    expect(west).toBeGreaterThan(-7);
    expect(west).toBeLessThan(-4);
    expect(south).toBeGreaterThan(41);
    expect(south).toBeLessThan(43);
    expect(tileset.links.map(({ href }: Link) => href).join()).toContain(
      'collections/a%2Fb%20c/map/tiles/LAMB93/{tileMatrix}',
    );
  });

  it('a tileset has no tile outside its limits', async () => {
    const { get } = openOgc([layer]);
    expect((await get(`${folder}/LAMB93:1/1/2`)).status).toBe(200);
    for (const place of ['LAMB93:1/2/0', 'LAMB93:1/0/3', 'LAMB93:0/0/0']) {
      const answer = await get(`${folder}/${place}`);
      expect([answer.status, answer.headers['content-type']], place).toEqual([
        404,
        'application/problem+json',
      ]);
    }
  });

  it('a tileset carries the parameters of its address on to the tiles', async () => {
    const { json } = openOgc();
    const { links } = await json('/ogc/collections/world/map/tiles/EPSG:4326?styles=dark&other=1');
    expect(linkTo(links, 'item')?.href).toBe(
      `${ROOT}/collections/world/map/tiles/EPSG:4326/{tileMatrix}/{tileRow}/{tileCol}?f=png&STYLES=dark`,
    );
  });

  it('a tileset of vector tiles has the data type vector', async () => {
    const both = [format('image/png'), format('application/vnd.mapbox-vector-tile')] as const;
    const { get, json } = openOgc([layerNamed('roads', { formats: [...both] })]);
    const collection = await json('/ogc/collections/roads');
    expect(linkTo(collection.links, `${REL}tilesets-vector`)?.href).toBe(`${ROOT}/collections/roads/tiles`);
    const tileset = await json('/ogc/collections/roads/tiles/EPSG:900913');
    expect(tileset).toMatchObject({ dataType: 'vector', mediaTypes: ['application/vnd.mapbox-vector-tile'] });
    const tile = await get('/ogc/collections/roads/tiles/EPSG:900913/3/1/2');
    expect(tile.headers['content-type']).toBe('application/vnd.mapbox-vector-tile');
    expect((await get('/ogc/collections/roads/map/tiles/EPSG:900913/3/1/2?f=pbf')).status).toBe(400);
    expect((await openOgc().get('/ogc/collections/world/tiles')).status).toBe(404);
  });
});

describe('styles', () => {
  it('the styles of a layer are those of the parameter STYLES, the default first', async () => {
    const { get, json, asked } = openOgc();
    const styles = await json('/ogc/collections/world/styles');
    expect(styles.default).toBe('light');
    expect(styles.styles.map(({ id }: { id: string }) => id)).toEqual(['light', 'dark']);
    const dark = '/ogc/collections/world/styles/dark';
    expect((await json(`${dark}/map/tiles/EPSG:900913`)).style).toEqual({ id: 'dark' });
    for (const style of ['dark', 'light']) {
      const tile = `/ogc/collections/world/styles/${style}/map/tiles/EPSG:900913/1/0/0?STYLES=nonsense`;
      expect((await get(tile)).status).toBe(200);
    }
    expect(asked.map(({ tiles }) => tiles.selection.values.get('STYLES'))).toEqual(['dark', 'light']);
    expect((await get('/ogc/collections/world/styles/bright')).status).toBe(404);
  });

  it('a layer without styles has one, called default', async () => {
    const { get, json } = openOgc([layerNamed('plain', { parameters: [] })]);
    expect((await json('/ogc/collections/plain/styles')).default).toBe('default');
    const tile = '/ogc/collections/plain/styles/default/map/tiles/EPSG:900913/1/0/0';
    expect((await get(tile)).status).toBe(200);
  });
});

describe('the form of an answer', () => {
  const TILE = '/ogc/collections/world/map/tiles/EPSG:900913/1/0/0';

  it.each([
    ['/ogc', {}, 'application/json'],
    ['/ogc', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }, 'text/html; charset=utf-8'],
    ['/ogc?f=html', { accept: 'application/json' }, 'text/html; charset=utf-8'],
    ['/ogc?f=json', { accept: 'text/html' }, 'application/json'],
    [`${TILE}?f=jpeg`, { accept: 'image/png' }, 'image/jpeg'],
    [`${TILE}?f=image/jpeg`, {}, 'image/jpeg'],
    [TILE, { accept: 'image/jpeg' }, 'image/jpeg'],
    [TILE, {}, 'image/png'],
  ])('the form of %s with %o is %s', async (path, headers, type) => {
    const answer = await openOgc().get(path, headers as Record<string, string>);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, type]);
    if (!path.includes('f=')) expect(answer.headers.vary).toMatch(/^Accept\b/);
  });

  it('an OGC API request that accepts no existing form is refused', async () => {
    const { get } = openOgc();
    const page = await get('/ogc/collections', { accept: 'application/xml' });
    expect([page.status, page.headers['content-type']]).toEqual([406, 'application/problem+json']);
    const tile = await get(TILE, { accept: 'image/webp' });
    expect([tile.status, JSON.parse(tile.text).detail]).toEqual([
      406,
      'There is image/png, image/jpeg; Accept allows none of it.',
    ]);
    const named = await get('/ogc?f=xml');
    expect([named.status, JSON.parse(named.text)]).toEqual([
      400,
      { type: 'about:blank', title: 'Bad Request', status: 400, detail: 'f must be json or html, not xml.' },
    ]);
  });

  it('a page of the OGC API shows names and never runs them', async () => {
    const evil = '"><script>alert(1)</script>';
    const { get } = openOgc([layerNamed(evil, { title: evil, description: evil, attribution: evil })]);
    for (const path of ['/ogc/collections', `/ogc/collections/${encodeURIComponent(evil)}`]) {
      const { text, headers } = await get(`${path}?f=html`);
      expect(text).toContain('&lt;script&gt;alert(1)');
      expect(text).not.toContain('<script>alert');
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
      expect(headers['content-security-policy']).not.toContain('unsafe');
    }
  });

  it('an OGC API answer is not sent again while it is the same', async () => {
    const { get } = openOgc();
    const first = await get('/ogc/collections');
    const again = await get('/ogc/collections', { 'if-none-match': first.headers.etag ?? '' });
    expect([again.status, again.text]).toEqual([304, '']);
  });
});

describe('what is wrong with a request', () => {
  it.each([
    ['/ogc/collections/missing', 404, 'There is no layer missing.'],
    ['/ogc/tileMatrixSets/missing', 404, 'There is no tile matrix set missing.'],
    [
      '/ogc/collections/world/map/tiles/missing',
      404,
      'Layer world has no grid set missing; it has EPSG:900913, EPSG:4326.',
    ],
    [
      '/ogc/collections/world/map/tiles/EPSG:4326/x/0/0',
      404,
      'There is no tile matrix x; there are EPSG:4326:0 to EPSG:4326:12.',
    ],
    [
      '/ogc/collections/world/map/tiles/EPSG:4326/0/a/0',
      400,
      'The row must be a whole number such as 0 or 12, not a.',
    ],
    [
      '/ogc/collections/world/map/tiles/EPSG:4326/0/0/-1',
      400,
      'The column must be a whole number such as 0 or 12, not -1.',
    ],
    [
      '/ogc/collections/world/map/tiles/EPSG:4326/0/0/0?f=gif',
      400,
      'Layer world has no .gif tiles; it has png, jpeg.',
    ],
    [
      '/ogc/collections/world/map/tiles/EPSG:4326/0/0/0?f=image/gif',
      400,
      'f must be one of png, jpeg, not image/gif.',
    ],
    ['/ogc/collections/world/map/tiles/EPSG:4326/0/0/0?f=png&f=jpeg', 400, 'The parameter f is given twice.'],
  ])('an error of %s is %i %s', async (path, status, detail) => {
    const answer = await openOgc().get(path);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json']);
    expect(JSON.parse(answer.text).detail).toBe(detail);
  });

  it('a password is required before anything of a closed layer is shown', async () => {
    const accounts = await openTestAccounts();
    await accounts.ensureAdministrator(GOOD_PASSWORD);
    const catalog = catalogOf([layerNamed('open'), layerNamed('closed', { access: 'operator' })]);
    const { request } = createTestApp({
      deps: { catalog },
      access: createAccountAccess(accounts.authenticator),
    });
    const refused = await request('GET', '/ogc/collections/closed/map/tiles/EPSG:4326');
    expect([refused.status, refused.headers['content-type']]).toEqual([401, 'application/problem+json']);
    expect(refused.headers).toHaveProperty('www-authenticate');
    const listed = await request('GET', '/ogc/collections');
    expect(listed.text).not.toContain('closed');
    expect(listed.headers['cache-control']).toBe('private, no-cache');
    const headers = { authorization: basic('admin', GOOD_PASSWORD) };
    expect((await request('GET', '/ogc/collections', { headers })).text).toContain('Title of closed');
  });
});
