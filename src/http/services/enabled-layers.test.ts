import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';

const catalog = catalogOf([
  layerNamed('world'),
  layerNamed('off', { enabled: false }),
  layerNamed('quiet', { advertised: false }),
]);
const { request } = createTestApp({ deps: { catalog } });

const WMTS = '/service/wmts?REQUEST=GetTile&STYLE=&FORMAT=image/png&TILEMATRIXSET=EPSG:900913';
const WMS = '/service/wms?SERVICE=WMS&REQUEST=GetMap&VERSION=1.1.1&STYLES=&FORMAT=image/png&SRS=EPSG:900913';
const WORLD = '-20037508.34,-20037508.34,20037508.34,20037508.34';

const tilesOf = (layer: string) => [
  `/tiles/${layer}/0/0/0.png`,
  `${WMTS}&LAYER=${layer}&TILEMATRIX=EPSG:900913:0&TILEROW=0&TILECOL=0`,
  `/service/wmts/rest/${layer}/EPSG:900913/EPSG:900913:0/0/0?format=image/png`,
  `/service/tms/1.0.0/${layer}@EPSG:900913@png/0/0/0.png`,
  `/service/gmaps?layers=${layer}&zoom=0&x=0&y=0`,
  `${WMS}&LAYERS=${layer}&BBOX=${WORLD}&WIDTH=256&HEIGHT=256`,
];

describe('a disabled layer', () => {
  it.each(tilesOf('off'))('a disabled layer answers %s with 400 and says why', async (url) => {
    const answer = await request('GET', url);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/Layer ('|&#39;)off('|&#39;) is disabled/);
  });

  it('a disabled layer is an error at LAYERS in WMTS, as in GeoWebCache', async () => {
    const { text } = await request('GET', tilesOf('off')[1] ?? '');
    expect(text).toContain('exceptionCode="InvalidParameterValue" locator="LAYERS"');
  });
});

it.each(tilesOf('quiet'))('a layer that is not advertised is served: %s', async (url) => {
  expect((await request('GET', url)).status).toBe(200);
});

it.each([
  '/tiles.json',
  '/service/wmts?REQUEST=GetCapabilities',
  '/service/wms?SERVICE=WMS&REQUEST=GetCapabilities',
  '/service/tms/1.0.0',
  '/ogc/collections',
])('neither a disabled layer nor one that is not advertised is listed in %s', async (url) => {
  const { text } = await request('GET', url, { headers: { accept: '*/*' } });
  expect(text).toContain('world');
  expect(text).not.toMatch(/\b(off|quiet)\b/);
});
