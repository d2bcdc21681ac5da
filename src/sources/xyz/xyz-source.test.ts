import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeTileSource, sourceRequest } from '../../../test/contracts/tile-source.ts';
import { builtInGridSet } from '../../../test/fixtures/layers.ts';
import { openMockTiles } from '../../../test/fixtures/mock-sources.ts';
import type { MockWms } from '../../../test/fixtures/mock-wms.ts';
import { showsPlace } from '../../../test/fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../../../test/fixtures/pictures.ts';
import { openTestUpstream } from '../../../test/fixtures/source-tools.ts';
import { type Format, formatOf } from '../../domain/format.ts';
import type { TileSource } from '../tile-source.ts';
import type { UpstreamClient } from '../upstream/upstream-client.ts';
import { openXyzSource, xyzSourceOptions } from './xyz-source.ts';

let contractTiles: MockWms;
describeTileSource('xyz', {
  async open() {
    contractTiles = await openMockTiles();
    const upstream = openTestUpstream();
    const url = `${contractTiles.url}/{z}/{x}/{y}.png`;
    const source = openXyzSource(xyzSourceOptions.parse({ type: 'xyz', url }), { upstream });
    return {
      source,
      async close() {
        await source.close();
        await upstream.close();
        await contractTiles.close();
      },
    };
  },
  formats: ['image/png', 'image/jpeg', 'image/webp'],
  gridSets: ['EPSG:900913', 'WebMercatorQuad'],
  breakIt: () => {
    contractTiles.answer = { status: 500 };
  },
  hang: () => {
    contractTiles.answer = 'hang';
  },
});

describe('the xyz source', () => {
  let tiles: MockWms;
  let upstream: UpstreamClient;
  beforeEach(async () => {
    tiles = await openMockTiles();
    upstream = openTestUpstream();
  });
  afterEach(async () => {
    await upstream.close();
    await tiles.close();
  });

  function open(options: object = {}): TileSource {
    const url = `${tiles.url}/{z}/{x}/{y}.png`;
    return openXyzSource(xyzSourceOptions.parse({ type: 'xyz', url, ...options }), { upstream });
  }

  const request = (changes: object = {}) => {
    const made = sourceRequest({ tiles: 1, ...changes });
    return { ...made, metatile: { ...made.metatile, z: 3, rect: { minX: 5, minY: 1, maxX: 5, maxY: 1 } } };
  };
  const lastPath = () => tiles.requests.at(-1)?.path;

  it('an XYZ source gets the tile of the right place', async () => {
    const asked = sourceRequest({ tiles: 1 });
    const answer = await open().fetch(asked);
    if (answer.kind !== 'encoded') throw new Error('not encoded');
    const image = await acceptImage(answer.bytes, answer.mediaType, 256, 256);
    expect(showsPlace(image, { srs: 3857, bounds: asked.bounds, width: 256, height: 256 })).toBe(true);
  });

  it.each([
    ['/{z}/{x}/{y}.png', '/tiles/3/5/1.png'],
    ['/{z}/{x}/{-y}.png', '/tiles/3/5/6.png'],
    ['/{quadkey}/0/0/0.png', '/tiles/103/0/0/0.png'],
    ['/{tilecache}.png', '/tiles/03/000/000/005/000/000/001.png'],
    ['/{-tilecache}.png', '/tiles/03/000/000/005/000/000/006.png'],
    ['/{arcgis}/0/0/0.png', '/tiles/L03/R00000001/C00000005/0/0/0.png'],
    ['/{-arcgis}/0/0/0.png', '/tiles/L03/R00000006/C00000005/0/0/0.png'],
    ['/{s}/{z}/{x}/{y}.png', '/tiles/a/3/5/1.png'],
    ['/{z}/{x}/{y}.png?key={key}', '/tiles/3/5/1.png?key=k%201%26'],
  ])('an XYZ source fills in %s', async (path, asked) => {
    await open({
      url: tiles.url + path,
      keys: path.includes('{key}') ? { key: 'k 1&' } : {},
      subdomains: ['a', 'b'],
    }).fetch(request());
    expect(lastPath()).toBe(asked);
  });

  it('an XYZ source counts zooms as the server does', async () => {
    await open({ zoomOffset: -1 }).fetch(request());
    expect(lastPath()).toBe('/tiles/2/5/1.png');
    const gridSets = { 'EPSG:4326': { zoomOffset: 1, url: `${tiles.url}/wgs84/{z}/{x}/{y}.png` } };
    await open({ gridSets }).fetch(request({ gridSetName: 'EPSG:4326' }));
    expect(lastPath()).toBe('/tiles/wgs84/4/5/1.png');
  });

  it('an XYZ source finds a grid set by its alias, and lists its own when another is requested', async () => {
    await open({ gridSets: { 'EPSG:3857': {} } }).fetch(request());
    expect(lastPath()).toBe('/tiles/3/5/1.png');
    await expect(open().fetch(request({ gridSetName: 'EPSG:4326' }))).rejects.toMatchObject({
      code: 'source-unavailable',
      message: 'The map source has no tiles in grid set EPSG:4326; it has web mercator.',
    });
  });

  it('an XYZ source takes 204 for an empty tile, and 404 only when configured', async () => {
    tiles.answer = { status: 204 };
    expect(await open().fetch(request())).toEqual({ kind: 'nothing' });
    tiles.answer = { status: 404 };
    await expect(open().fetch(request())).rejects.toMatchObject({ reason: 'status' });
    expect(await open({ absent: [404] }).fetch(request())).toEqual({ kind: 'nothing' });
    tiles.answer = { status: 204 };
    await expect(open({ absent: [404] }).fetch(request())).rejects.toMatchObject({ reason: 'status' });
  });

  it('an XYZ source refuses another type of image than the address promises, unless any is allowed', async () => {
    tiles.answer = 'wrong-type';
    await expect(open().fetch(request())).rejects.toMatchObject({ reason: 'wrong-type' });
    expect(await open({ format: 'any' }).fetch(request())).toMatchObject({ mediaType: 'image/jpeg' });
    expect(await open({ format: 'image/jpeg' }).fetch(request())).toMatchObject({ mediaType: 'image/jpeg' });
    tiles.answer = 'good';
    const png = request({ format: formatOf('image/webp') as Format });
    expect(await open().fetch(png)).toMatchObject({ mediaType: 'image/png' });
  });

  it('an XYZ source sends headers and credentials, and shows none of its secrets', async () => {
    const source = open({
      url: `${tiles.url}/{secret}/{z}/{x}/{y}.png?token=t1`,
      keys: { secret: 'hush' },
      headers: { referer: 'https://maps.example.org/' },
      username: 'ann',
      password: 'pw',
    });
    await source.fetch(request());
    expect(tiles.requests.at(-1)?.headers).toMatchObject({
      referer: 'https://maps.example.org/',
      authorization: `Basic ${Buffer.from('ann:pw').toString('base64')}`,
    });
    expect(source.addressOf?.(request())).toBe(`${tiles.url}/***/3/5/1.png?token=***`);
    tiles.answer = { status: 500, body: 'no tile at /hush/3/5/1.png' };
    const failure = await source.fetch(request()).catch((error: Error) => error);
    expect(String((failure as Error).cause)).toContain('no tile at /***/3/5/1.png');
    expect(String(failure) + String((failure as Error).cause)).not.toMatch(/hush|t1/);
    // The log quotes the beginning of the page; the text without markup may come from further below.
    tiles.answer = { status: 403, body: `<style>${'p {} '.repeat(200)}</style>No access to /hush/3/5/1.png` };
    const refused = await source.fetch(request()).catch((error: Error) => error);
    expect(refused).toMatchObject({ upstream: { status: 403, text: 'No access to /***/3/5/1.png' } });
  });

  it('an XYZ source leaves vector tiles compressed, and accepts no other compressed tiles', async () => {
    const vector = request({ format: formatOf('application/vnd.mapbox-vector-tile') as Format });
    const packed = gzipSync('a tile');
    const openVector = () => open({ url: `${tiles.url}/{z}/{x}/{y}.pbf` });
    tiles.answer = { status: 200, body: packed, headers: { 'content-encoding': 'gzip' } };
    expect(await openVector().fetch(vector)).toMatchObject({ kind: 'encoded', bytes: packed });
    expect(tiles.requests.at(-1)?.headers['accept-encoding']).toBe('gzip');
    await expect(open().fetch(request())).rejects.toMatchObject({ reason: 'encoded-body' });
    expect(tiles.requests.at(-1)?.headers['accept-encoding']).toBe('identity');
    tiles.answer = { status: 200, body: packed };
    expect(await openVector().fetch(vector)).toMatchObject({ kind: 'encoded', bytes: packed });
    tiles.answer = { status: 200, body: packed, headers: { 'content-encoding': 'br' } };
    await expect(openVector().fetch(vector)).rejects.toMatchObject({ reason: 'encoded-body' });
  });

  it('an XYZ source has ready-made tiles of 512 pixels too', async () => {
    const retina = builtInGridSet('EPSG:900913x2');
    await open().fetch(request({ gridSet: retina }));
    expect(lastPath()).toBe('/tiles/3/5/1.png');
  });
});

describe('the options of the xyz source', () => {
  const problems = (options: object) =>
    xyzSourceOptions
      .safeParse({ type: 'xyz', url: 'http://a.test/{z}/{x}/{y}', ...options })
      .error?.issues.map(({ message }) => message) ?? [];

  it.each([
    [{ url: 'ftp://a.test/{z}/{x}/{y}' }, 'must be an http or https address'],
    [
      { url: 'http://a.test/{z}/{x}' },
      'must hold {z}, {x} and {y} (or {-y}), or one of {quadkey}, {tilecache}, {arcgis}',
    ],
    [{ url: 'http://u:p@a.test/{z}/{x}/{y}' }, 'must not contain credentials'],
    [{ url: 'http://{s}.test/{z}/{x}/{y}' }, 'holds {s}, but subdomains is empty'],
    [
      { url: 'http://a.test/{z}/{x}/{y}?k={key}' },
      'holds {key}, which is neither a placeholder nor one of keys',
    ],
    [{ keys: { z: 'a' } }, ''],
    [{ absent: [500] }, ''],
    [{ headers: { range: 'bytes=0-1' } }, ''],
  ])('the options of an XYZ source refuse %j', (options, message) => {
    expect(problems(options).join('; ')).toContain(message);
    expect(problems(options)).not.toEqual([]);
  });
});
