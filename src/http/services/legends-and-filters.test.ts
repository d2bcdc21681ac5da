import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  format,
  layerNamed,
  tileResponse,
} from '../../../test/fixtures/http-app.ts';
import type { BoundLayer } from '../../catalog/catalog.ts';
import type { Legend } from '../../domain/layer.ts';
import type { LegendRequest } from '../../sources/tile-source.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const LEGEND: Legend = {
  style: '',
  width: 20,
  height: 30,
  format: 'image/png',
  url: null,
  minScale: 1000,
  maxScale: null,
};

function opened(sent: Buffer = PNG) {
  const asked: LegendRequest[] = [];
  const layer = layerNamed('world', {
    legends: [LEGEND, { ...LEGEND, style: 'dark', url: 'http://example.org/dark.png?a=1&b=2' }],
  });
  const catalog = catalogOf([layer]);
  const bound: BoundLayer = {
    layer,
    store: undefined as never,
    source: () => ({
      maxMetatile: null,
      fetch: () => Promise.reject(new Error('not here')),
      legend: async (request) => {
        asked.push(request);
        return { bytes: sent, mediaType: 'image/png' };
      },
      close: async () => {},
    }),
  };
  const app = createTestApp({ deps: { catalog: { ...catalog, layer: () => bound } } });
  return { ...app, asked };
}

describe('legends', () => {
  it('legends are in the capabilities of WMTS and WMS, at their address or at ours', async () => {
    const { request } = opened();
    const wmts = (await request('GET', '/service/wmts?REQUEST=GetCapabilities')).text;
    expect(wmts).toMatch(
      /<LegendURL format="image\/png" minScaleDenominator="1000" width="20" height="30" xlink:href="http:\/\/localhost\/service\/wms\?SERVICE=WMS&amp;REQUEST=GetLegendGraphic[^"]*LAYER=world&amp;STYLE=&amp;[^"]*"\/>/,
    );
    expect(wmts).toContain('xlink:href="http://example.org/dark.png?a=1&amp;b=2"');
    for (const version of ['1.1.1', '1.3.0']) {
      const { text } = await request(
        'GET',
        `/service/wms?SERVICE=WMS&REQUEST=GetCapabilities&VERSION=${version}`,
      );
      expect(text).toContain('<LegendURL width="20" height="30"><Format>image/png</Format>');
    }
  });

  it('legends are requested from the source', async () => {
    const { request, asked } = opened();
    const answer = await request(
      'GET',
      '/service/wms?REQUEST=GetLegendGraphic&LAYER=world&STYLE=dark&FORMAT=image/jpeg&WIDTH=40&SCALE=5000',
    );
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/png']);
    expect(asked).toMatchObject([
      { style: 'dark', format: 'image/jpeg', width: 40, height: null, scale: '5000' },
    ]);
  });

  it('a legend that is not a picture, or of no layer, is refused', async () => {
    const wrong = opened(Buffer.from('<svg onload="alert(1)"/>'));
    const get = (query: string) => wrong.request('GET', `/service/wms?REQUEST=GetLegendGraphic&${query}`);
    expect((await get('LAYER=world')).status).toBe(502);
    expect((await get('STYLE=a')).status).toBe(400);
    expect((await get('LAYER=world&FORMAT=image/svg%2Bxml')).status).toBe(400);
    expect((await get('LAYER=world&WIDTH=99999')).status).toBe(400);
  });
});

describe('a circular filter', () => {
  it('a circular filter answers tiles far from the middle with an empty picture and its name', async () => {
    const catalog = catalogOf([layerNamed('world', { circularFilter: 'round' })]);
    const { request } = createTestApp({ deps: { catalog } });
    const corner = await request('GET', '/tiles/world/5/0/0.png');
    expect([corner.status, corner.headers['content-type'], corner.headers['gwc-request-filter']]).toEqual([
      200,
      'image/png',
      'round',
    ]);
    const middle = await request('GET', '/tiles/world/5/16/16.png');
    expect([middle.status, middle.headers['gwc-request-filter']]).toEqual([200, undefined]);
  });
});

describe('a layer with a mixture of JPEG and PNG', () => {
  it.each([
    [PNG, 'image/png'],
    [Buffer.from([0xff, 0xd8, 0xff, 0xe0]), 'image/jpeg'],
  ])('a layer with a mixture of JPEG and PNG answers each tile as what it is', async (bytes, type) => {
    const catalog = catalogOf([layerNamed('world', { formats: [format('image/vnd.jpeg-png')] })]);
    const read = async () => tileResponse({ bytes });
    const { request } = createTestApp({ deps: { catalog, pipeline: { read } } });
    const wmts = (named: string) =>
      `/service/wmts?REQUEST=GetTile&LAYER=world&STYLE=&FORMAT=${named}&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:0&TILEROW=0&TILECOL=0`;
    const tiles = ['jpeg-png', 'png', 'jpeg', 'jpg'].map((extension) => `/tiles/world/0/0/0.${extension}`);
    const named = ['image/vnd.jpeg-png', 'image/png', 'image/jpeg'].map(wmts);
    for (const url of [...tiles, ...named]) {
      expect((await request('GET', url)).headers['content-type']).toBe(type);
    }
    expect((await request('GET', '/tiles/world/0/0/0.webp')).status).toBe(400);
  });
});
