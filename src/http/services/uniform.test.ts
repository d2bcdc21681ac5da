import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed, slopingTiles } from '../../../test/fixtures/http-app.ts';

const MAP = '/service/wms?REQUEST=GetMap&LAYERS=world&FORMAT=image/png&SRS=EPSG:4326&WIDTH=256&HEIGHT=256';
const MATRIX = 'TILEMATRIXSET=EPSG:4326&TILEMATRIX=EPSG:4326:1&TILEROW=0&TILECOL=2';

/** The same tile, however it is asked for. */
const TILES = [
  '/tiles/world/EPSG:4326/1/2/0.png',
  `/service/wmts?REQUEST=GetTile&LAYER=world&FORMAT=image/png&${MATRIX}`,
  '/service/wmts/rest/world/light/EPSG:4326/EPSG:4326:1/0/2?format=image/png',
  '/service/tms/1.0.0/world@EPSG:4326@png/1/2/1.png',
  `${MAP}&BBOX=0,0,90,90`,
  '/service/kml/world/x2y1z1.png',
];

const OTHER_TILES = [
  '/service/gmaps?layers=world&zoom=1&x=1&y=0',
  '/service/ve?layers=world&quadkey=1',
  `${MAP}&BBOX=1,2,33,44`,
];

const DOCUMENTS = [
  '/service/wmts?REQUEST=GetCapabilities',
  '/service/wmts/rest/WMTSCapabilities.xml',
  '/service/wms?REQUEST=GetCapabilities&VERSION=1.1.1',
  '/service/wms?REQUEST=GetCapabilities&VERSION=1.1.1&TILED=true',
  '/service/wms?REQUEST=GetCapabilities&VERSION=1.3.0',
  '/service/tms',
  '/service/tms/1.0.0',
  '/service/tms/1.0.0/world@EPSG:4326@png',
  '/service/kml/world.kml',
  '/service/kml/world.kmz',
  '/service/kml/world/x0y0z0.png.kml',
];

const catalog = catalogOf([layerNamed('world', { fullWms: true })]);
const { inject } = createTestApp({ deps: { catalog, pipeline: { read: slopingTiles().read } } });
const CHANGING = new Set(['date', 'expires', 'x-request-id', 'connection']);
const stable = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !CHANGING.has(name)));

describe('every service', () => {
  it.each([...TILES, ...OTHER_TILES, ...DOCUMENTS])(
    'HEAD and conditions are answered alike at %s',
    async (url) => {
      const got = await inject(url);
      expect(got.statusCode, got.body).toBe(200);
      expect(got.headers['content-length']).toBe(String(got.rawPayload.length));
      expect(got.headers).toMatchObject({ 'access-control-allow-origin': '*', etag: expect.any(String) });

      const head = await inject({ method: 'HEAD', url });
      expect([head.statusCode, head.rawPayload.length]).toEqual([200, 0]);
      expect(stable(head.headers)).toEqual(stable(got.headers));

      const etag = String(got.headers.etag);
      const strong = etag.replace(/^W\//, '');
      for (const tags of [etag, `W/${strong}`, `"other", ${etag}`, '*']) {
        const known = await inject({ url, headers: { 'if-none-match': tags } });
        expect([known.statusCode, known.rawPayload.length, known.headers.etag]).toEqual([304, 0, etag]);
        expect(known.headers['cache-control']).toBe(got.headers['cache-control']);
      }
      const other = await inject({ url, headers: { 'if-none-match': '"other"' } });
      expect(other.statusCode).toBe(200);
    },
  );

  it.each([...TILES, ...OTHER_TILES])('dates are compared in whole seconds at %s', async (url) => {
    const since = (date: string) => inject({ url, headers: { 'if-modified-since': date } });
    expect((await since('Fri, 02 Jan 2026 03:04:05 GMT')).statusCode).toBe(304);
    expect((await since('Fri, 02 Jan 2026 03:04:04 GMT')).statusCode).toBe(200);
  });

  it('a tile has the same bytes and headers in every service', async () => {
    const answers = await Promise.all(TILES.map((url) => inject(url)));
    for (const { headers, rawPayload } of answers) {
      expect(rawPayload.equals(answers[0]?.rawPayload ?? Buffer.alloc(0))).toBe(true);
      expect(stable(headers)).toEqual(stable(answers[0]?.headers ?? {}));
    }
  });

  it('a tile of each zoom has its own lifetime for clients, in every service', async () => {
    const rules = [
      { minZoom: 1, seconds: 600 },
      { minZoom: 3, seconds: 60 },
    ];
    const { request } = createTestApp({
      deps: {
        catalog: catalogOf([layerNamed('world', { expireClientsSeconds: 0, expireClientsByZoom: rules })]),
      },
    });
    const ages = await Promise.all(
      [0, 1, 2, 3, 4].map(
        async (z) => (await request('GET', `/tiles/world/${z}/0/0.png`)).headers['cache-control'],
      ),
    );
    const [ten, one] = ['max-age=600, must-revalidate', 'max-age=60, must-revalidate'];
    expect(ages).toEqual([undefined, ten, ten, one, one]);
  });
});
