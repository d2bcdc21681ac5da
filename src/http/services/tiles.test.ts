import { describe, expect, it, vi } from 'vitest';
import {
  CREATED_AT,
  catalogOf,
  createTestApp,
  format,
  hit,
  layerNamed,
  listen,
  type Read,
  subset,
  TILE_BYTES,
  tileResponse,
} from '../../../test/fixtures/http-app.ts';
import { type ErrorCode, TilewardenError } from '../../domain/errors.ts';
import { createGridSubset, retinaSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';

const ETAG = '"abcdef01-18"';
const LAST_MODIFIED = new Date(CREATED_AT).toUTCString();

describe('a tile', () => {
  it('a tile comes with everything a client needs to keep and place it', async () => {
    const { request } = createTestApp();
    const answer = await request('GET', '/tiles/world/EPSG:4326/1/3/0.png');
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(TILE_BYTES.toString());
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(TILE_BYTES.length),
      'x-cache': 'HIT',
      etag: ETAG,
      'last-modified': LAST_MODIFIED,
      'cache-control': 'max-age=7200, must-revalidate',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'geowebcache-cache-result': 'HIT',
      'geowebcache-gridset': 'EPSG:4326',
      'geowebcache-crs': 'EPSG:4326',
      'geowebcache-tile-index': '[3, 1, 1]',
      'geowebcache-tile-bounds': '90,0,180,90',
    });
    expect(answer.headers).not.toHaveProperty('server');
  });

  it('a tile is answered without its bytes to HEAD', async () => {
    const { request } = createTestApp();
    const answer = await request('HEAD', '/tiles/world/0/0/0.png');
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    expect(answer.headers['content-length']).toBe(String(TILE_BYTES.length));
    expect(answer.headers.etag).toBe(ETAG);
  });

  it.each([
    ['the same tag', { 'if-none-match': ETAG }, 304],
    ['one of several tags', { 'if-none-match': `"other", W/${ETAG}` }, 304],
    ['any tag', { 'if-none-match': '*' }, 304],
    ['another tag', { 'if-none-match': '"other"' }, 200],
    [
      'another tag and the same date',
      { 'if-none-match': '"other"', 'if-modified-since': LAST_MODIFIED },
      200,
    ],
    ['the same date', { 'if-modified-since': LAST_MODIFIED }, 304],
    ['an older date', { 'if-modified-since': new Date(CREATED_AT - 1000).toUTCString() }, 200],
    ['no date at all', { 'if-modified-since': 'yesterday' }, 200],
  ])('a tile is sent again or not when the client has %s', async (_case, headers, status) => {
    const { request } = createTestApp();
    const answer = await request('GET', '/tiles/world/0/0/0.png', { headers });
    expect(answer.status).toBe(status);
    expect(answer.headers.etag).toBe(ETAG);
    expect(answer.text.length).toBe(status === 304 ? 0 : TILE_BYTES.length);
  });

  it('a tile has no caching headers when its layer has no lifetime', async () => {
    const catalog = catalogOf([layerNamed('world', { expireClientsSeconds: 0 })]);
    const { request } = createTestApp({ deps: { catalog } });
    const answer = await request('GET', '/tiles/world/0/0/0.png');
    expect(answer.headers).not.toHaveProperty('cache-control');
  });

  it('a stale tile has to be requested again next time', async () => {
    const read: Read = async () => tileResponse({ outcome: 'STALE' });
    const { request } = createTestApp({ deps: { pipeline: { read } } });
    const answer = await request('GET', '/tiles/world/0/0/0.png');
    expect(answer.headers).toMatchObject({
      'x-cache': 'STALE',
      'cache-control': 'max-age=0, must-revalidate',
      'geowebcache-cache-result': 'HIT',
    });
  });
});

describe('the address of a tile', () => {
  function spying() {
    const asked: string[] = [];
    const read: Read = async (tiles, { z, x, y }) => {
      const style = tiles.selection.values.get('STYLES');
      asked.push(`${tiles.set.layer} ${tiles.set.gridSet} ${tiles.set.format} ${style} ${z}/${x}/${y}`);
      return tileResponse();
    };
    return { asked, read };
  }

  it.each([
    ['/tiles/world/3/2/1.png', 'world EPSG:900913 image/png light 3/2/1'],
    ['/geowebcache/tiles/world/3/2/1.png', 'world EPSG:900913 image/png light 3/2/1'],
    ['/geoserver/gwc/tiles/world/3/2/1.jpg', 'world EPSG:900913 image/jpeg light 3/2/1'],
    ['/tiles/world/EPSG%3A4326/3/2/1.jpeg', 'world EPSG:4326 image/jpeg light 3/2/1'],
    ['/tiles/world/EPSG:3857/3/2/1.png', 'world EPSG:900913 image/png light 3/2/1'],
    ['/tiles/world/3/2/1.png?styles=dark&_=17', 'world EPSG:900913 image/png dark 3/2/1'],
    ['/tiles/topp:states/0/0/0.png', 'topp:states EPSG:900913 image/png light 0/0/0'],
    ['/tiles/topp%3Astates/0/0/0.png', 'topp:states EPSG:900913 image/png light 0/0/0'],
    ['/tiles/img%20states/0/0/0.png', 'img states EPSG:900913 image/png light 0/0/0'],
    ['/tiles/a%2Fb/0/0/0.png', 'a/b EPSG:900913 image/png light 0/0/0'],
    ['/tiles/a.json/0/0/0.png', 'a.json EPSG:900913 image/png light 0/0/0'],
    ['/tiles/100%25/0/0/0.png', '100% EPSG:900913 image/png light 0/0/0'],
    ['/tiles/%252F/0/0/0.png', '%2F EPSG:900913 image/png light 0/0/0'],
    ['/tiles/%E5%9C%B0/0/0/0.png', '地 EPSG:900913 image/png light 0/0/0'],
    ['/tiles/../0/0/0.png', '.. EPSG:900913 image/png light 0/0/0'],
    ['http://elsewhere.example/tiles/world/0/0/0.png', 'world EPSG:900913 image/png light 0/0/0'],
  ])('the address %s of a tile means %s', async (url, expected) => {
    const names = ['world', 'topp:states', 'img states', 'a/b', 'a.json', '100%', '%2F', '地', '..'];
    const { asked, read } = spying();
    const catalog = catalogOf(names.map((name) => layerNamed(name)));
    const app = createTestApp({ deps: { catalog, pipeline: { read } } });
    const { close } = await listen(app);
    try {
      expect(await statusOf(app.server, url)).toBe(200);
      expect(asked).toEqual([expected]);
    } finally {
      await close();
    }
  });

  it('the address of a tile with .png reaches the 8-bit tiles of a layer that has no others', async () => {
    const { asked, read } = spying();
    const catalog = catalogOf([layerNamed('world', { formats: [format('image/png8')] })]);
    const { request } = createTestApp({ deps: { catalog, pipeline: { read } } });
    await request('GET', '/tiles/world/0/0/0.png');
    expect(asked).toEqual(['world EPSG:900913 image/png8 light 0/0/0']);
  });

  it.each([
    ['/tiles/mars/0/0/0.png', 404, 'There is no layer mars.'],
    ['/tiles/WORLD/0/0/0.png', 404, 'There is no layer WORLD.'],
    ['/tiles/world/EPSG:1/0/0/0.png', 400, 'it has EPSG:900913, EPSG:4326'],
    ['/tiles/world/0/0/0.tiff', 400, 'it has png, jpeg'],
    ['/tiles/world/0/0/0.', 400, 'such as 12, 12.png or 12@2x.png'],
    ['/tiles/world/0/0/0@3x.png', 400, 'such as 12, 12.png or 12@2x.png'],
    ['/tiles/world/0/0/0@2x.png', 400, 'has no @2x tiles'],
    ['/tiles/world/0/1/0.png', 404, 'columns are 0 to 0'],
    ['/tiles/world/13/0/0.png', 404, 'zooms 0 to 12'],
    ['/tiles/world/99999999999/0/0.png', 400, 'The zoom must be a whole number'],
    ['/tiles/world/-1/0/0.png', 400, 'The zoom must be a whole number'],
    ['/tiles/world/1e0/0/0.png', 400, 'The zoom must be a whole number'],
    ['/tiles/world/01/0/0.png', 400, 'The zoom must be a whole number'],
    ['/tiles/world/1/0x1/0.png', 400, 'The column must be a whole number'],
    ['/tiles/world/1/0/%200.png', 400, 'The row must be a whole number'],
    ['/tiles/world/0/0/0.png?STYLES=neon', 400, 'STYLES'],
    ['/tiles/world/0/0/0.png?STYLES=dark&styles=light', 400, 'STYLES is given twice'],
    ['/tiles/%zz/0/0/0.png', 400, 'percent-encoded'],
    ['/tiles/world/0/0/0.png/', 404, 'nothing at this path'],
    ['/tiles//0/0/0.png', 404, 'nothing at this path'],
  ])('the address %s of a tile is answered %i and says %s', async (url, status, message) => {
    const { request } = createTestApp();
    const answer = await request('GET', url);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.text).toContain(message);
    expect(answer.text).toMatch(/^[^\n]+\n$/);
  });

  it('the address of a tile needs a grid set when the layer has none in web mercator', async () => {
    const catalog = catalogOf([layerNamed('world', { gridSubsets: [subset('EPSG:4326', 5)] })]);
    const { request } = createTestApp({ deps: { catalog } });
    const answer = await request('GET', '/tiles/world/0/0/0.png');
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('name one of EPSG:4326 in the address');
  });
});

describe('a tile that cannot be had', () => {
  it.each<[ErrorCode, number]>([
    ['source-unavailable', 502],
    ['source-bad-answer', 502],
    ['source-busy', 503],
    ['store-failed', 503],
    ['stopping', 503],
    ['source-timeout', 504],
  ])('a tile that fails because of %s is a %i with the time to retry', async (code, status) => {
    const read: Read = async () => {
      throw new TilewardenError(code, 'Not now.', { retryAfterSeconds: 6.2, cause: new Error('10.0.0.7') });
    };
    const { request, log } = createTestApp({ deps: { pipeline: { read } } });
    const answer = await request('GET', '/tiles/world/0/0/0.png');
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'retry-after': '7',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
    });
    expect(answer.text).toBe('Not now.\n');
    expect(log).toEqual([]);
  });

  it('an unexpected error of a tile names the request, and the log has the rest', async () => {
    const read: Read = async () => {
      throw new Error('secret: /var/lib/tiles');
    };
    const { request, log } = createTestApp({ deps: { pipeline: { read } } });
    const answer = await request('GET', '/tiles/world/0/0/0.png');
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('secret');
    expect(answer.text).toContain(answer.headers['x-request-id']);
    expect(log).toMatchObject([
      { level: 'error', details: { requestId: answer.headers['x-request-id'], err: expect.any(Error) } },
    ]);
  });
});

async function statusOf(server: import('node:http').Server, url: string): Promise<number> {
  const { request } = await import('node:http');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: address.port, path: url }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('a tile whose address has no extension', () => {
  it.each([
    [undefined, 'image/png'],
    ['image/*', 'image/png'],
    ['image/jpeg, image/png;q=0.9', 'image/jpeg'],
    ['image/avif,image/webp,image/*;q=0.8,*/*;q=0.5', 'image/webp'],
  ])('a tile whose address has no extension comes as Accept %s prefers: %s', async (accept, type) => {
    const formats = [format('image/png'), format('image/jpeg'), format('image/webp')] as const;
    const { request } = createTestApp({ deps: { catalog: catalogOf([layerNamed('world', { formats })]) } });
    const headers = accept === undefined ? {} : { accept };
    const answer = await request('GET', '/tiles/world/EPSG:4326/1/0/0', { headers });
    expect([answer.status, answer.headers['content-type'], answer.headers.vary]).toEqual([
      200,
      type,
      'Accept',
    ]);
    const again = await request('GET', '/tiles/world/EPSG:4326/1/0/0', {
      headers: { ...headers, 'if-none-match': ETAG },
    });
    expect([again.status, again.headers.vary]).toEqual([304, 'Accept']);
  });

  it('a tile whose address has no extension is refused with the existing formats if Accept allows none', async () => {
    const { request } = createTestApp();
    const answer = await request('GET', '/tiles/world/1/0/0', {
      headers: { accept: 'image/webp, text/html' },
    });
    expect([answer.status, answer.text, answer.headers.vary]).toEqual([
      406,
      'There is image/png, image/jpeg; Accept allows none of it.\n',
      'Accept',
    ]);
  });
});

describe('a tile for dense screens', () => {
  const gridSubsets = [subset('EPSG:900913', 12), subset('EPSG:4326', 12)] as const;
  const layer = layerNamed('world', { gridSubsets, retinaSubsets: gridSubsets.map(retinaSubset) });

  it.each([
    ['/tiles/world/3/4/2@2x.png', 'EPSG:900913@2x'],
    ['/tiles/world/3/4/2@2x', 'EPSG:900913@2x'],
    ['/tiles/world/EPSG:4326/3/4/2@2x.jpeg', 'EPSG:4326@2x'],
    ['/tiles/world/EPSG:3857/3/4/2@2x.png', 'EPSG:900913@2x'],
    ['/tiles/world/EPSG:3857@2x/3/4/2.png', 'EPSG:900913@2x'],
  ])('a dense tile at %s is that of the grid set %s, at the same place', async (address, gridSet) => {
    const read = vi.fn<Read>(hit);
    const { request } = createTestApp({ deps: { catalog: catalogOf([layer]), pipeline: { read } } });
    const answer = await request('GET', address);
    expect([answer.status, answer.headers['geowebcache-gridset']]).toEqual([200, gridSet]);
    const [tiles, index] = read.mock.calls[0] ?? [];
    expect(index).toEqual({ z: 3, x: 4, y: 2 });
    expect([tiles?.subset.gridSet.tileWidth, tiles?.subset.gridSet.pixelRatio]).toEqual([512, 2]);
    const plain = await request('GET', address.replace('@2x', ''));
    expect(plain.headers['geowebcache-tile-bounds']).toBe(answer.headers['geowebcache-tile-bounds']);
  });

  it('a grid set for dense screens is in no list of grid sets', async () => {
    const { request } = createTestApp({ deps: { catalog: catalogOf([layer]) } });
    const documents = [
      '/tiles.json',
      '/service/wmts?REQUEST=GetCapabilities',
      '/service/tms/1.0.0',
      '/ogc/tileMatrixSets',
    ];
    for (const document of documents)
      expect((await request('GET', document)).text).not.toContain('900913@2x');
  });
});

describe('a tile outside what the layer offers', () => {
  const gridSet = subset('EPSG:900913', 5).gridSet;
  const extent = { minX: 0, minY: 0, maxX: 1e6, maxY: 1e6 };
  const gridSubsets = [createGridSubset(gridSet, { extent, zoomStart: 1, zoomStop: 5 })] as const;
  const formats = [
    format('image/png'),
    format('image/jpeg'),
    format('application/vnd.mapbox-vector-tile'),
  ] as const;
  const appFor = (outside: Layer['outside']) =>
    createTestApp({ deps: { catalog: catalogOf([layerNamed('world', { outside, gridSubsets, formats })]) } });

  it.each([null, 'notFound'] as const)('a tile outside the layer is a 404 by setting %s', async (outside) => {
    const { request } = appFor(outside);
    for (const tile of ['5/0/0.png', '0/0/0.png', '7/0/0.png']) {
      expect((await request('GET', `/tiles/world/${tile}`)).status, tile).toBe(404);
    }
  });

  it.each([
    ['/tiles/world/5/0/0.png', 200, 'image/png'],
    ['/tiles/world/0/0/0.png', 200, 'image/png'],
    ['/tiles/world/7/0/0.png', 200, 'image/png'],
    ['/tiles/world/5/0/0.jpeg', 200, 'image/png'],
    ['/service/tms/1.0.0/world@EPSG:900913@png/5/0/0.png', 200, 'image/png'],
    ['/service/gmaps?layers=world&zoom=5&x=0&y=0', 200, 'image/png'],
    ['/ogc/collections/world/map/tiles/EPSG:900913/5/0/0', 200, 'image/png'],
    [
      '/service/wmts?REQUEST=GetTile&LAYER=world&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:5&TILEROW=0&TILECOL=0',
      200,
      'image/png',
    ],
    ['/tiles/world/5/0/0.pbf', 204, undefined],
    ['/tiles/world/5/32/0.png', 404, 'text/plain; charset=utf-8'],
  ])('a tile outside the layer is transparent at %s with that setting: %i', async (address, status, type) => {
    const answer = await appFor('transparent').request('GET', address);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, type]);
    if (status === 404) return;
    expect(answer.headers).toMatchObject({
      'x-cache': 'BYPASS',
      'geowebcache-cache-result': 'OTHER',
      'geowebcache-message': 'The tile is outside the extent of the layer',
    });
  });
});
