import { describe, expect, it } from 'vitest';
import {
  CREATED_AT,
  catalogOf,
  createTestApp,
  layerNamed,
  type Read,
  subset,
  TILE_BYTES,
  tileResponse,
} from '../../../../test/fixtures/http-app.ts';
import { createParameterFilter } from '../../../domain/parameter-filter.ts';

const KVP =
  '/service/wmts?Service=WMTS&version=1.0.0&request=GetTile&layer=world&style=&format=image/png' +
  '&tilematrixset=EPSG:4326&tilematrix=EPSG:4326:1&tilerow=0&tilecol=3';
const REST = '/service/wmts/rest/world/light/EPSG:4326/EPSG:4326:1/0/3?format=image/png';

function spying() {
  const asked: string[] = [];
  const read: Read = async ({ set, selection }, { z, x, y }) => {
    const values = [...selection.values].map(([name, value]) => `${name}=${value}`).join(' ');
    asked.push(`${set.layer} ${set.gridSet} ${set.format} ${z}/${x}/${y} ${values}`.trim());
    return tileResponse();
  };
  const time = createParameterFilter({ name: 'TIME', defaultValue: '2024', values: ['2024', '2025'] });
  const catalog = catalogOf([
    layerNamed('world'),
    layerNamed('a/b', { parameters: [] }),
    layerNamed('timed', { parameters: [time] }),
    layerNamed('unnamed', { parameters: [createParameterFilter({ name: 'STYLES', values: ['dark'] })] }),
    layerNamed('ogc', { gridSubsets: [subset('WebMercatorQuad', 5)], parameters: [] }),
  ]);
  return { asked, ...createTestApp({ deps: { catalog, pipeline: { read } } }) };
}

describe('a tile by WMTS', () => {
  it.each([
    ['in a query', KVP],
    ['by path', REST],
    ['below a prefix', `/geoserver/gwc${REST}`],
  ])('a tile requested from WMTS %s comes with everything a client needs', async (_how, url) => {
    const { request } = createTestApp();
    const answer = await request('GET', url);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(TILE_BYTES.toString());
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(TILE_BYTES.length),
      'x-cache': 'HIT',
      etag: '"abcdef01-18"',
      'last-modified': new Date(CREATED_AT).toUTCString(),
      'cache-control': 'max-age=7200, must-revalidate',
      'access-control-allow-origin': '*',
      'geowebcache-cache-result': 'HIT',
      'geowebcache-gridset': 'EPSG:4326',
      'geowebcache-tile-index': '[3, 1, 1]',
      'geowebcache-tile-bounds': '90,0,180,90',
    });
  });

  it('a tile by WMTS is answered without its bytes to HEAD, and not again to a client that has it', async () => {
    const { request } = createTestApp();
    const head = await request('HEAD', REST);
    expect([head.status, head.text, head.headers['content-length']]).toEqual([
      200,
      '',
      String(TILE_BYTES.length),
    ]);
    const again = await request('GET', KVP, { headers: { 'if-none-match': '"abcdef01-18"' } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  const query = (layer: string, gridSet: string, matrix: string, more = '') =>
    `/service/wmts?REQUEST=gettile&LAYER=${layer}&FORMAT=image/jpeg&TILEMATRIXSET=${gridSet}&TILEMATRIX=${matrix}&TILEROW=1&TILECOL=2${more}`;
  const path = (rest: string) => `/service/wmts/rest/${rest}`;
  const mercator = 'EPSG:900913/EPSG:900913:2/1/2?format=image/png';
  it.each([
    [query('world', 'EPSG:900913', 'EPSG:900913:2'), 'world EPSG:900913 image/jpeg 2/2/1 STYLES=light'],
    [query('world', 'EPSG:3857', 'EPSG:3857:2'), 'world EPSG:900913 image/jpeg 2/2/1 STYLES=light'],
    [query('world', 'EPSG:3857', 'EPSG:900913:2'), 'world EPSG:900913 image/jpeg 2/2/1 STYLES=light'],
    [
      query('world', 'EPSG:4326', 'EPSG:4326:2', '&STYLE=dark'),
      'world EPSG:4326 image/jpeg 2/2/1 STYLES=dark',
    ],
    [
      query('world', 'EPSG:4326', 'EPSG:4326:2', '&styles=dark'),
      'world EPSG:4326 image/jpeg 2/2/1 STYLES=dark',
    ],
    [
      query('world', 'EPSG:4326', 'EPSG:4326:2', '&STYLE=default'),
      'world EPSG:4326 image/jpeg 2/2/1 STYLES=light',
    ],
    [query('world', 'EPSG:4326', 'EPSG:4326:2', '&_=1&_=2'), 'world EPSG:4326 image/jpeg 2/2/1 STYLES=light'],
    [query('a/b', 'EPSG:4326', 'EPSG:4326:2', '&STYLE=default'), 'a/b EPSG:4326 image/jpeg 2/2/1'],
    [query('timed', 'EPSG:4326', 'EPSG:4326:2', '&time=2025'), 'timed EPSG:4326 image/jpeg 2/2/1 TIME=2025'],
    [
      query('timed', 'EPSG:4326', 'EPSG:4326:2', '&TIME=default'),
      'timed EPSG:4326 image/jpeg 2/2/1 TIME=2024',
    ],
    [
      query('unnamed', 'EPSG:4326', 'EPSG:4326:2', '&STYLE=default'),
      'unnamed EPSG:4326 image/jpeg 2/2/1 STYLES=',
    ],
    [query('ogc', 'WebMercatorQuad', '2'), 'ogc WebMercatorQuad image/jpeg 2/2/1'],
    [path(`world/dark/${mercator}`), 'world EPSG:900913 image/png 2/2/1 STYLES=dark'],
    [path(`world/${mercator}`), 'world EPSG:900913 image/png 2/2/1 STYLES=light'],
    [path(`world//${mercator}`), 'world EPSG:900913 image/png 2/2/1 STYLES=light'],
    [path(`a%2Fb/default/${mercator}`), 'a/b EPSG:900913 image/png 2/2/1'],
    [path(`timed/default/${mercator}&TIME=2025`), 'timed EPSG:900913 image/png 2/2/1 TIME=2025'],
    [path(`timed/default/2025/${mercator}`), 'timed EPSG:900913 image/png 2/2/1 TIME=2025'],
    [path(`timed/default/default/${mercator}`), 'timed EPSG:900913 image/png 2/2/1 TIME=2024'],
    [
      path(`timed/default/2025/${mercator.replace('900913', '3857')}`),
      'timed EPSG:900913 image/png 2/2/1 TIME=2025',
    ],
  ])('the WMTS request %s means %s', async (url, expected) => {
    const { request, asked } = spying();
    const answer = await request('GET', url);
    expect(answer.status, answer.text).toBe(200);
    expect(asked).toEqual([expected]);
  });
});
