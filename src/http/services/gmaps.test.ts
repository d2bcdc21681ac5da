import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { basic, GOOD_PASSWORD, openTestAccounts } from '../../../test/fixtures/accounts.ts';
import {
  catalogOf,
  createTestApp,
  format,
  layerNamed,
  type Read,
  subset,
  TILE_BYTES,
  tileResponse,
} from '../../../test/fixtures/http-app.ts';
import { createGridSubset } from '../../domain/grid-subset.ts';
import { createAccountAccess } from '../auth/access.ts';
import { tileOfQuadkey } from './tiles.ts';

function spying() {
  const asked: string[] = [];
  const read: Read = async ({ set, selection }, { z, x, y }) => {
    asked.push(`${set.layer} ${set.gridSet} ${set.format} ${z}/${x}/${y} ${selection.values.get('STYLES')}`);
    return tileResponse();
  };
  const catalog = catalogOf([layerNamed('world'), layerNamed('jpeg', { formats: [format('image/jpeg')] })]);
  return { asked, ...createTestApp({ deps: { catalog, pipeline: { read } } }) };
}

describe('a tile as Google and Bing name it', () => {
  it.each(['/service/gmaps?layers=world&zoom=2&x=3&y=1', '/service/ve?layers=world&quadkey=13'])(
    'the Google or Bing address %s comes with everything a client needs',
    async (url) => {
      const { request } = createTestApp();
      const answer = await request('GET', url);
      expect(answer.status).toBe(200);
      expect(answer.text).toBe(TILE_BYTES.toString());
      expect(answer.headers).toMatchObject({
        'content-type': 'image/png',
        'x-cache': 'HIT',
        etag: '"abcdef01-18"',
        'access-control-allow-origin': '*',
        'geowebcache-gridset': 'EPSG:900913',
        'geowebcache-tile-index': '[3, 2, 2]',
      });
      expect((await request('HEAD', url)).text).toBe('');
      const headers = { 'if-none-match': '"abcdef01-18"' };
      expect((await request('GET', url, { headers })).status).toBe(304);
    },
  );

  it('a tile with cached=false comes straight from the source if the layer allows it', async () => {
    const past: unknown[] = [];
    const read: Read = async ({ bypass }) => {
      past.push(bypass);
      return tileResponse({ outcome: 'BYPASS' });
    };
    const catalog = catalogOf([layerNamed('world', { cacheBypass: true })]);
    const { request } = createTestApp({ deps: { catalog, pipeline: { read } } });
    for (const more of ['', '&cached=false', '&CACHED=FALSE']) {
      await request('GET', `/service/gmaps?layers=world&zoom=2&x=3&y=1${more}`);
    }
    expect(past).toEqual([undefined, true, true]);
  });

  it.each([
    ['gmaps?layers=world&zoom=2&x=3&y=1', 'world EPSG:900913 image/png 2/3/1 light'],
    [
      'gmaps?LAYERS=world&ZOOM=2&X=3&Y=1&FORMAT=image/jpeg&STYLES=dark',
      'world EPSG:900913 image/jpeg 2/3/1 dark',
    ],
    ['gmaps?layers=jpeg&zoom=0&x=0&y=0&cached=true', 'jpeg EPSG:900913 image/jpeg 0/0/0 light'],
    ['mgmaps?layers=world&zoom=15&x=3&y=1', 'world EPSG:900913 image/png 2/3/1 light'],
    ['ve?quadkey=213&layers=world', 'world EPSG:900913 image/png 3/3/5 light'],
    ['ve?quadkey=0&layers=world&format=image/jpeg&styles=dark', 'world EPSG:900913 image/jpeg 1/0/0 dark'],
  ])('the Google or Bing address %s means %s', async (path, expected) => {
    const { request, asked } = spying();
    const answer = await request('GET', `/service/${path}`);
    expect(answer.status, answer.text).toBe(200);
    expect(asked).toEqual([expected]);
  });

  const tile = 'gmaps?layers=world&zoom=2&x=3&y=1';
  it.each([
    ['gmaps', 400, 'The parameter zoom is missing.'],
    ['gmaps?zoom=2&x=3&y=1', 400, 'The parameter layers is missing.'],
    ['gmaps?layers=world&zoom=2&x=3', 400, 'The parameter y is missing.'],
    ['gmaps?layers=world&zoom=two&x=3&y=1', 400, 'zoom must be a whole number'],
    ['gmaps?layers=mars&zoom=2&x=3&y=1', 404, 'There is no layer mars.'],
    ['gmaps?layers=world&zoom=2&x=4&y=1', 400, 'The X coordinate is not sane: 4'],
    ['gmaps?layers=world&zoom=2&x=3&y=-1', 400, 'The Y coordinate is not sane: -1'],
    ['gmaps?layers=world&zoom=13&x=3&y=1', 404, 'zooms 0 to 12'],
    ['gmaps?layers=world&zoom=99&x=3&y=1', 404, 'no zoom level 99'],
    ['gmaps?layers=part&zoom=2&x=3&y=1', 404, 'columns are 2 to 2'],
    ['gmaps?layers=degrees&zoom=2&x=3&y=1', 400, 'no grid set in web mercator'],
    [`${tile}&format=image/tiff`, 400, 'it has image/png, image/jpeg'],
    [`${tile}&styles=neon`, 400, 'STYLES'],
    [`${tile}&X=2`, 400, 'The parameter X is given twice.'],
    [`${tile}&cached=false`, 400, 'Layer world is not configured to allow bypassing the cache.'],
    ['ve?layers=world', 400, 'The parameter quadkey is missing.'],
    ['ve?layers=world&quadkey=124', 400, 'digits 0 to 3'],
    [`ve?layers=world&quadkey=${'0'.repeat(31)}`, 400, 'at most 30 digits'],
    [`ve?layers=world&quadkey=${'0'.repeat(13)}`, 404, 'zooms 0 to 12'],
  ])('the Google or Bing address %s is answered %i and says %s', async (path, status, message) => {
    const { gridSet } = subset('EPSG:900913', 12);
    const east = createGridSubset(gridSet, { extent: { minX: 1e6, minY: 1e6, maxX: 2e6, maxY: 2e6 } });
    const catalog = catalogOf([
      layerNamed('world'),
      layerNamed('part', { gridSubsets: [east] }),
      layerNamed('degrees', { gridSubsets: [subset('EPSG:4326', 5)] }),
    ]);
    const { request } = createTestApp({ deps: { catalog } });
    const answer = await request('GET', `/service/${path}`);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.text).toContain(message);
  });

  it('a tile by Google address is for callers who may see its layer', async () => {
    const accounts = await openTestAccounts();
    await accounts.ensureAdministrator(GOOD_PASSWORD);
    const catalog = catalogOf([layerNamed('closed', { access: 'operator' })]);
    const { request } = createTestApp({
      deps: { catalog },
      access: createAccountAccess(accounts.authenticator),
    });
    const headers = { authorization: basic('admin', GOOD_PASSWORD) };
    for (const url of [
      '/service/gmaps?layers=closed&zoom=0&x=0&y=0',
      '/service/ve?layers=closed&quadkey=0',
    ]) {
      expect((await request('GET', url)).status).toBe(401);
      expect((await request('GET', url, { headers })).status).toBe(200);
    }
  });
});

describe('a quadkey', () => {
  it('a quadkey names every tile of every zoom once', () => {
    const anyTile = fc
      .integer({ min: 0, max: 30 })
      .chain((z) => fc.record({ z: fc.constant(z), x: fc.nat(2 ** z - 1), y: fc.nat(2 ** z - 1) }));
    fc.assert(
      fc.property(anyTile, ({ z, x, y }) => {
        const bits = (value: number) => [...value.toString(2).padStart(z, '0')].slice(0, z).map(Number);
        const quadkey = bits(x)
          .map((bit, i) => bit + 2 * (bits(y)[i] ?? 0))
          .join('');
        expect(tileOfQuadkey(quadkey)).toEqual({ z, x, y });
      }),
    );
  });
});
