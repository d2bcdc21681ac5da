import { expect, it } from 'vitest';
import { catalogOf, createTestApp, hit, layerNamed, type Read } from '../../../test/fixtures/http-app.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { createMapComposer } from '../../pipeline/map-composer.ts';

const MAP = 'VERSION=1.1.1&REQUEST=GetMap&LAYERS=world&STYLES=&FORMAT=image/png&SRS=EPSG:4326';
const TILE = `BBOX=0,0,90,90&WIDTH=256&HEIGHT=256`;
const WMTS = 'SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile&LAYER=world&STYLE=&FORMAT=image/png';

const ADDRESSES = [
  '/tiles/world/EPSG:4326/1/3/0.png',
  '/service/tms/1.0.0/world@EPSG:4326@png/1/3/1.png',
  `/service/wmts?${WMTS}&TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:1&TILEROW=0&TILECOL=3`,
  `/service/wms?${MAP}&${TILE}`,
  '/service/kml/world/x3y1z1.png',
];

const absent: Read = async () => {
  throw new TilewardenError('tile-not-cached', 'The tile is not cached.');
};

it.each(ADDRESSES)('a tile that is not cached is 404 with X-Cache: MISS at %s', async (address) => {
  const { request } = createTestApp({ deps: { pipeline: { read: absent } } });
  const { status, headers } = await request('GET', address);
  expect(status).toBe(404);
  expect(headers).toMatchObject({ 'x-cache': 'MISS', 'cache-control': 'no-store' });
});

it.each([
  [7200, 'max-age=10, must-revalidate'],
  [5, 'max-age=5, must-revalidate'],
  [0, 'max-age=10, must-revalidate'],
  [-1, 'no-cache'],
])('a stretched tile of a layer with expireClients %i has Cache-Control: %s', async (seconds, control) => {
  const layer = layerNamed('world', { expireClientsSeconds: seconds });
  const read: Read = async (...asked) => ({ ...(await hit(...asked)), outcome: 'MISS', standIn: true });
  const { request } = createTestApp({ deps: { catalog: catalogOf([layer]), pipeline: { read } } });
  const { headers } = await request('GET', ADDRESSES[0] ?? '');
  expect(headers).toMatchObject({ 'x-cache': 'MISS', 'cache-control': control });
});

it('a composed map with a stretched tile is kept by clients for seconds only', async () => {
  const composer = {
    ...createMapComposer({ read: hit }),
    compose: async () => {
      const origin = { createdAt: 0, outcome: 'MISS' as const, zoom: 1, standIn: true, warning: null };
      return { bytes: Buffer.from('map'), digest: 'digest', ...origin };
    },
  };
  const catalog = catalogOf([layerNamed('world', { fullWms: true })]);
  const { request } = createTestApp({ deps: { catalog, composer } });
  const { headers } = await request('GET', `/service/wms?${MAP}&BBOX=0,0,91,91&WIDTH=256&HEIGHT=256`);
  expect(headers).toMatchObject({ 'x-cache': 'MISS', 'cache-control': 'max-age=10, must-revalidate' });
});
