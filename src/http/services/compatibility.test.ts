import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  type Read,
  subset,
  tileResponse,
} from '../../../test/fixtures/http-app.ts';
import { createGridSet } from '../../domain/grid-set.ts';
import { createGridSubset } from '../../domain/grid-subset.ts';
import { createRewrite } from './compatibility.ts';

const geodetic = createGridSet({
  name: 'GLOBAL_GEODETIC',
  srs: 4326,
  extent: { minX: -180, minY: -90, maxX: 180, maxY: 90 },
  resolutions: [1.40625, 0.703125, 0.3515625],
  tileWidth: 256,
  tileHeight: 256,
});
const catalog = catalogOf([
  layerNamed('osm'),
  layerNamed('one', { gridSubsets: [subset('EPSG:900913', 12)] }),
  layerNamed('geo', { gridSubsets: [createGridSubset(geodetic, {})] }),
  layerNamed('two', { gridSubsets: [subset('EPSG:900913', 12), createGridSubset(geodetic, {})] }),
  layerNamed('topp:states'),
]);

function rewritten(program: 'mapproxy' | 'mapcache' | 'geoserver', address: string): string | null {
  const [path = '', query = ''] = address.split('?');
  return createRewrite([program], catalog)?.(path, query) ?? null;
}

describe("addresses of other programs' clients", () => {
  it.each([
    ['/service?SERVICE=WMS&REQUEST=GetMap&LAYERS=osm', '/service/wms?SERVICE=WMS&REQUEST=GetMap&LAYERS=osm'],
    ['/service?REQUEST=GetCapabilities', '/service/wms?REQUEST=GetCapabilities'],
    ['/wms?SERVICE=WMS', '/service/wms?SERVICE=WMS'],
    ['/service?service=wmts&request=GetCapabilities', '/service/wmts?service=wmts&request=GetCapabilities'],
    ['/wmts/1.0.0/WMTSCapabilities.xml', '/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&'],
    ['/wmts/osm/GLOBAL_MERCATOR/03/5/2.png', '/tiles/osm/EPSG%3A900913/3/5/2.png'],
    ['/wmts/osm/webmercator/3/5/2.png', '/tiles/osm/EPSG%3A900913/3/5/2.png'],
    ['/wmts/one/mine/3/5/2.png', '/tiles/one/EPSG%3A900913/3/5/2.png'],
    // Grids that are declared keep their names.
    ['/wmts/two/mine/3/5/2.png', '/tiles/two/EPSG%3A900913/3/5/2.png'],
    ['/wmts/two/GLOBAL_GEODETIC/2/1/1.png', '/tiles/two/GLOBAL_GEODETIC/2/1/1.png'],
    ['/wmts/osm/mine/3/5/2.png', null],
    ['/tiles/osm/webmercator/3/5/2.png', '/tiles/osm/EPSG%3A900913/3/5/2.png'],
    ['/tiles/osm/GLOBAL_MERCATOR/3/5/2.png', '/tiles/osm/EPSG%3A900913/3/5/5.png'],
    ['/tiles/osm/3/5/2.png', null],
    ['/tms/', '/service/tms'],
    ['/tms/1.0.0/', '/service/tms/1.0.0'],
    ['/tms/1.0.0/geo', '/service/tms/1.0.0/geo@GLOBAL_GEODETIC@png'],
    ['/tms/1.0.0/osm/EPSG900913', '/service/tms/1.0.0/osm@EPSG%3A900913@png'],
    ['/tms/1.0.0/osm/EPSG25832', null],
    // MapProxy's zoom 0 has two rows and columns.
    ['/tms/1.0.0/osm/EPSG900913/0/1/0.png', '/tiles/osm/EPSG%3A900913/1/1/1.png'],
    ['/tms/1.0.0/one/2/5/2.png', '/tiles/one/EPSG%3A900913/3/5/5.png'],
    ['/tms/1.0.0/geo/EPSG4326/0/1/0.png', '/tiles/geo/GLOBAL_GEODETIC/1/1/0.png'],
    ['/tms/1.0.0/osm/EPSG900913/0/1/9.png', null],
    ['/tiles/osm/EPSG900913/3/5/2.png?origin=nw', '/tiles/osm/EPSG%3A900913/3/5/2.png?origin=nw'],
    ['/tiles/osm/EPSG900913/3/5/2.png?origin=sw', '/tiles/osm/EPSG%3A900913/3/5/5.png?origin=sw'],
    ['/tiles/1.0.0/one/3/5/2.jpeg?origin=nw', '/tiles/one/EPSG%3A900913/3/5/2.jpeg?origin=nw'],
    ['/tiles/osm/3/5/2.png', null],
    ['/kml/osm/EPSG900913/0/0/0.kml', '/service/kml/osm.kml'],
    ['/kml/osm', '/service/kml/osm.kml'],
    ['/kml/osm/1/0/1.kml', '/service/kml/osm.kml'],
    ['/kml/osm/EPSG900913/1/0/1.png', '/tiles/osm/EPSG%3A900913/1/0/0.png'],
    ['/kml/one/1/0/1.jpeg', '/tiles/one/EPSG%3A900913/1/0/0.jpeg'],
    ['/wmts/myrest/osm/GLOBAL_MERCATOR/03/5/2.png', '/tiles/osm/EPSG%3A900913/3/5/2.png'],
    ['/wmts/myrest/1.0.0/WMTSCapabilities.xml', '/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&'],
    [
      '/service?service=WMTS&request=GetTile&layer=osm&tilematrixset=GLOBAL_MERCATOR&tilematrix=03&tilecol=5&tilerow=2&format=png',
      '/tiles/osm/EPSG%3A900913/3/5/2.png?service=WMTS&request=GetTile&layer=osm&tilematrixset=GLOBAL_MERCATOR&tilematrix=03&tilecol=5&tilerow=2&format=png',
    ],
    // Its format is that of no tile of the layer; the level has another name.
    [
      '/service?service=WMTS&request=GetFeatureInfo&layer=osm&tilematrixset=GLOBAL_MERCATOR&tilematrix=03&format=image/gif&i=1',
      '/service/wmts?service=WMTS&request=GetFeatureInfo&layer=osm&i=1&TILEMATRIXSET=EPSG%3A900913&TILEMATRIX=EPSG%3A900913%3A3',
    ],
    [
      '/service?service=WMTS&request=GetFeatureInfo&layer=none&tilematrixset=x',
      '/service/wmts?service=WMTS&request=GetFeatureInfo&layer=none&tilematrixset=x',
    ],
    // Our route refuses an unknown layer as it does a closed one.
    ['/wmts/unknown/GLOBAL_MERCATOR/03/5/2.png', '/tiles/unknown/GLOBAL_MERCATOR/3/5/2.png'],
    ['/wmts/%E0/GLOBAL_MERCATOR/3/5/2.png', '/tiles/%E0/GLOBAL_MERCATOR/3/5/2.png'],
    ['/tms/1.0.0/unknown/3/5/2.png', '/tiles/unknown/-/3/5/2.png'],
    ['/tms/1.0.0/unknown', '/service/tms/1.0.0/unknown@-@png'],
    ['/api/v1/layers', null],
  ])('MapProxy’s %s is %s', (address, ours) => {
    expect(rewritten('mapproxy', address)).toBe(ours);
  });

  it('a GetTile of MapProxy’s WMTS names its own grid and zoom', () => {
    const query =
      'SERVICE=WMTS&REQUEST=GetTile&VERSION=1.0.0&LAYER=osm&STYLE=&TILEMATRIXSET=GLOBAL_WEBMERCATOR&TILEMATRIX=03&TILEROW=2&TILECOL=5&FORMAT=image/png';
    expect(rewritten('mapproxy', `/service?${query}`)).toBe(`/tiles/osm/EPSG%3A900913/3/5/2.png?${query}`);
    const unknown = rewritten('mapproxy', `/service?${query.replace('osm', 'none')}`);
    expect(unknown).toMatch(/^\/tiles\/none\/GLOBAL_WEBMERCATOR\/3\/5\/2\.png\?/);
  });

  it.each([
    ['/mapcache/wms?SERVICE=WMS', '/service/wms?SERVICE=WMS'],
    ['/tms/1.0.0/osm@g/3/5/2.png', '/tiles/osm/EPSG%3A900913/3/5/5.png'],
    ['/mapcache/tms/1.0.0/osm@WGS84/1/3/0.png', '/tiles/osm/EPSG%3A4326/1/3/1.png'],
    ['/gmaps/osm@GoogleMapsCompatible/3/5/2.jpg', '/tiles/osm/EPSG%3A900913/3/5/2.jpg'],
    ['/wmts/1.0.0/osm/default/g/3/2/5.png', '/tiles/osm/EPSG%3A900913/3/5/2.png'],
    ['/kml/osm@WGS84.kml', '/service/kml/osm.kml'],
  ])('MapCache’s %s is %s', (address, ours) => {
    expect(rewritten('mapcache', address)).toBe(ours);
  });

  it.each([
    ['/geoserver/wms?LAYERS=topp:states', '/service/wms?LAYERS=topp:states'],
    ['/geoserver/topp/gwc/service/wms?LAYERS=states,a:b', '/service/wms?LAYERS=topp%3Astates%2Ca%3Ab'],
    ['/geoserver/topp/gwc/service/wmts?layer=states', '/service/wmts?layer=topp%3Astates'],
    ['/geoserver/topp/gwc/service/tms/1.0.0', '/service/tms/1.0.0'],
    ['/geoserver/gwc/service/wmts?REQUEST=GetCapabilities', '/service/wmts?REQUEST=GetCapabilities'],
    ['/geoserver/rest/layers', null],
  ])('GeoServer’s %s is %s', (address, ours) => {
    expect(rewritten('geoserver', address)).toBe(ours);
  });

  it('a server offers the addresses of the programs that it names, below its prefixes too', async () => {
    const asked: string[] = [];
    const read: Read = async ({ set }, { z, x, y }) => {
      asked.push(`${set.layer} ${set.gridSet} ${z}/${x}/${y}`);
      return tileResponse();
    };
    const deps = { catalog, pipeline: { read } };
    const { request } = createTestApp({ deps, options: { compatibility: ['mapproxy', 'mapcache'] } });
    const addresses = ['/tms/1.0.0/osm/EPSG900913/1/3/1.png', '/geowebcache/tms/1.0.0/osm@g/2/3/1.png'];
    for (const address of [...addresses, ...addresses]) {
      expect((await request('GET', address)).status, address).toBe(200);
    }
    expect(new Set(asked)).toEqual(new Set(['osm EPSG:900913 2/3/2']));
    const capabilities = await request('GET', '/service?SERVICE=WMS&REQUEST=GetCapabilities&VERSION=1.1.1');
    expect(capabilities.text).toContain('<Name>osm</Name>');
    const tileMap = await request('GET', '/tms/1.0.0/osm/EPSG900913');
    expect(tileMap.text).toContain('/service/tms/1.0.0/osm@EPSG%3A900913@png/12');
    expect((await request('POST', '/tms/1.0.0/osm/EPSG900913/1/3/1.png')).status).toBe(405);
    const plain = createTestApp({ deps });
    expect((await plain.request('GET', '/tms/1.0.0/osm/EPSG900913/1/3/1.png')).status).toBe(404);
  });

  it('no program, no addresses', () => {
    expect(createRewrite([], catalog)).toBeNull();
  });
});
