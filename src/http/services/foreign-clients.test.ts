import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, format, layerNamed, subset } from '../../../test/fixtures/http-app.ts';
import { createGridSet } from '../../domain/grid-set.ts';
import { createGridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { systemClock } from '../../lib/clock.ts';

const ASIA = createGridSet({
  name: '日本',
  srs: 4326,
  extent: { minX: 120, minY: 20, maxX: 150, maxY: 50 },
  levels: 3,
});
const EUROPE = createGridSet({
  name: 'Europe',
  srs: 4326,
  extent: { minX: -10, minY: 35, maxX: 30, maxY: 60 },
  levels: 3,
});
const subsets: Layer['gridSubsets'] = [
  subset('EPSG:900913', 5),
  createGridSubset(EUROPE),
  createGridSubset(ASIA),
  subset('WebMercatorQuad', 5),
];
const layer = layerNamed('many', {
  gridSubsets: subsets,
  formats: [format('image/png'), format('image/png8')],
});
const NOW = Date.UTC(2026, 5, 1, 12, 0, 0, 700);
const open = () =>
  createTestApp({ deps: { catalog: catalogOf([layer]), clock: { ...systemClock, now: () => NOW } } });

describe('what foreign clients need', () => {
  it('a layer has one box for each CRS, around all its grid sets there: WMTS', async () => {
    const { text } = await open().request('GET', '/service/wmts?REQUEST=GetCapabilities');
    const boxes = [
      ...text.matchAll(
        /<ows:BoundingBox crs="([^"]+)"><ows:LowerCorner>([^<]+)<\/ows:LowerCorner><ows:UpperCorner>([^<]+)</g,
      ),
    ];
    expect(boxes.map(([, crs]) => crs)).toEqual(['urn:ogc:def:crs:EPSG::3857', 'urn:ogc:def:crs:EPSG::4326']);
    expect(boxes[1]?.slice(2)).toEqual(['20 -10', '60 150']);
  });

  it.each([
    ['0.5.0', '1.1.1'],
    ['1.0.0', '1.1.1'],
    ['1.2.9', '1.1.1'],
    ['1.3.1', '1.3.0'],
    ['2.0.0', '1.3.0'],
  ])(
    'a WMS client that requests version %s receives the next lower one, or the lowest: %s',
    async (wanted, version) => {
      const { text } = await open().request('GET', `/service/wms?REQUEST=GetCapabilities&VERSION=${wanted}`);
      expect(text).toMatch(new RegExp(`<WM\\w+ version="${version}"`));
    },
  );

  it.each(['1.1.1', '1.3.0'])(
    'a layer has one box for each CRS, around all its grid sets there: WMS %s',
    async (version) => {
      const url = `/service/wms?REQUEST=GetCapabilities&VERSION=${version}`;
      const { text } = await open().request('GET', url);
      const names = [...text.matchAll(/<BoundingBox [CS]RS="([^"]+)"/g)].map(([, name]) => name);
      expect(names).toEqual([...new Set(names)]);
      const order =
        version === '1.3.0'
          ? 'minx="20" miny="-10" maxx="60" maxy="150"'
          : 'minx="-10" miny="20" maxx="150" maxy="60"';
      expect(text).toContain(`"EPSG:4326" ${order}`);
    },
  );

  it('a grid set in EPSG:4326 has its corner with latitude first unless it says otherwise', async () => {
    const { text } = await open().request('GET', '/service/wmts?REQUEST=GetCapabilities');
    expect(text).toContain('<TopLeftCorner>60 -10</TopLeftCorner>');
    const turned = createGridSet({ ...EUROPE, levels: 3, yCoordinateFirst: false });
    const { request } = createTestApp({
      deps: { catalog: catalogOf([layerNamed('turned', { gridSubsets: [createGridSubset(turned)] })]) },
    });
    const other = (await request('GET', '/service/wmts?REQUEST=GetCapabilities')).text;
    expect(other).toContain('<ows:SupportedCRS>urn:ogc:def:crs:OGC:1.3:CRS84</ows:SupportedCRS>');
    expect(other).toContain('<TopLeftCorner>-10 60</TopLeftCorner>');
  });

  it('a tileset names each media type once', async () => {
    const { text } = await open().request('GET', '/ogc/collections/many/map/tiles/WebMercatorQuad?f=json');
    expect(JSON.parse(text).mediaTypes).toEqual(['image/png']);
  });

  it('tiles of a grid set whose name no header can hold are answered, and the name is written as in an address', async () => {
    const app = open();
    const answer = await app.inject(`/tiles/many/${encodeURIComponent('日本')}/0/0/0.png`);
    expect(answer.statusCode).toBe(200);
    expect(decodeURIComponent(String(answer.headers['geowebcache-gridset']))).toBe('日本');
    const map =
      '/service/wms?REQUEST=GetMap&LAYERS=many&FORMAT=image/png&SRS=EPSG:4326&WIDTH=256&HEIGHT=256&BBOX=-179,-89,-178,-88&TILED=true';
    expect((await app.inject(map)).statusCode).toBeLessThan(500);
    expect(app.log).toEqual([]);
  });

  it('a tile with max-age has Expires too, for old clients', async () => {
    const app = open();
    for (const url of [
      '/tiles/many/0/0/0.png',
      '/service/wmts?REQUEST=GetTile&LAYER=many&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:0&TILEROW=0&TILECOL=0',
    ]) {
      const { headers } = await app.inject(url);
      expect(headers['cache-control']).toBe('max-age=7200, must-revalidate');
      expect(headers.expires).toBe('Mon, 01 Jun 2026 14:00:00 GMT');
    }
  });
});
