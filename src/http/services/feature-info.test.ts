import { expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  format,
  JSON_BODY,
  layerNamed,
  subset,
} from '../../../test/fixtures/http-app.ts';
import type { BoundLayer } from '../../catalog/catalog.ts';
import type { Layer } from '../../domain/layer.ts';
import { projectionOfSrs } from '../../domain/projection.ts';
import type { InfoRequest } from '../../sources/tile-source.ts';

const INFO = ['text/plain', 'application/json'];
const layers = [
  layerNamed('hills', { infoFormats: INFO, wmsCrs: [25832], gridSubsets: [subset('EPSG:4326', 12)] }),
  layerNamed('lakes', { infoFormats: ['text/html', ...INFO] }),
  layerNamed('near', {
    infoFormats: INFO,
    gridSubsets: [{ ...subset('EPSG:4326', 12), scales: [0, 1000] }],
  }),
  layerNamed('mute'),
];
const groups = new Map([['land', { name: 'land', layers: ['hills', 'mute', 'lakes'] }]]);

function openInfo() {
  const requests: InfoRequest[] = [];
  const catalog = catalogOf(layers);
  const bind = ({ name }: Layer) => {
    const bound = catalog.layer(name);
    if (!bound) throw new Error('no layer');
    const featureInfo = async (request: InfoRequest) => {
      requests.push(request);
      const json = JSON.stringify({ type: 'FeatureCollection', features: [{ type: 'Feature', id: name }] });
      const text = request.infoFormat === 'application/json' ? json : name;
      return { bytes: Buffer.from(text), mediaType: request.infoFormat };
    };
    const source = () => ({ ...bound.source(), featureInfo });
    return [name, Object.create(bound, { source: { value: source } }) as BoundLayer] as const;
  };
  const bounds = new Map(layers.map(bind));
  const deps = { catalog: { ...catalog, layer: (name: string) => bounds.get(name) ?? null }, groups };
  const { inject } = createTestApp({ deps });
  const get = (parameters: Record<string, string>) => {
    const query = new URLSearchParams({
      ...{ REQUEST: 'GetFeatureInfo', VERSION: '1.1.1', SRS: 'EPSG:4326', BBOX: '0,40,20,60' },
      ...{ WIDTH: '200', HEIGHT: '200', X: '50', Y: '80', INFO_FORMAT: 'text/plain', ...parameters },
    });
    return inject(`/service/wms?${query}`);
  };
  return { get, requests };
}

it('feature info of several layers comes in the order of QUERY_LAYERS, each layer once', async () => {
  const { get } = openInfo();
  const both = { LAYERS: 'hills,lakes,mute', QUERY_LAYERS: 'lakes,hills,lakes' };
  expect((await get(both)).body).toBe('lakes\nhills\n');
  const json = await get({ ...both, INFO_FORMAT: 'application/json' });
  expect(json.headers['content-type']).toContain('application/json');
  const { features } = JSON.parse(json.body) as { features: { id: string }[] };
  expect(features.map(({ id }) => id)).toEqual(['lakes', 'hills']);
});

it('feature info of a group is that of its layers that can be queried', async () => {
  const { get } = openInfo();
  expect((await get({ LAYERS: 'land', QUERY_LAYERS: 'land' })).body).toBe('hills\nlakes\n');
  const mute = await get({ LAYERS: 'land', QUERY_LAYERS: 'mute' });
  expect([mute.statusCode, mute.body.includes('LayerNotQueryable')]).toEqual([400, true]);
  const html = await get({ LAYERS: 'land', QUERY_LAYERS: 'land', INFO_FORMAT: 'text/html' });
  expect([html.statusCode, html.body.includes('hills')]).toEqual([400, true]);
});

it('a layer outside its scales is not asked for feature info', async () => {
  const { get, requests } = openInfo();
  const answer = await get({ LAYERS: 'near', QUERY_LAYERS: 'near', INFO_FORMAT: 'application/json' });
  expect(JSON.parse(answer.body)).toEqual({ type: 'FeatureCollection', features: [] });
  expect(requests).toEqual([]);
});

it('feature info in a CRS that a layer is warped to is asked for at the same place in its own', async () => {
  const { get, requests } = openInfo();
  const place = {
    SRS: 'EPSG:25832',
    BBOX: '500000,5000000,600000,5100000',
    LAYERS: 'hills',
    QUERY_LAYERS: 'hills',
  };
  expect((await get(place)).body).toBe('hills');
  const [request] = requests;
  if (!request) throw new Error('nothing was asked');
  expect(request.gridSet.name).toBe('EPSG:4326');
  const { bounds, width, height, i, j } = request;
  const longitude = bounds.minX + ((i + 0.5) / width) * (bounds.maxX - bounds.minX);
  const latitude = bounds.maxY - ((j + 0.5) / height) * (bounds.maxY - bounds.minY);
  const [x, y] = projectionOfSrs(25832)?.fromLonLat(longitude, latitude) ?? [0, 0];
  expect(Math.abs(x - 525250)).toBeLessThan(1);
  expect(Math.abs(y - 5059750)).toBeLessThan(1);
});

it('the search for tile addresses never queries a source', async () => {
  const formats = [format('application/vnd.mapbox-vector-tile')] as const;
  const catalog = catalogOf([layerNamed('lakes', { infoFormats: INFO }), layerNamed('shapes', { formats })]);
  const opened: string[] = [];
  const bind = (name: string): [string, BoundLayer] => [
    name,
    Object.create(catalog.layer(name), { source: { value: () => opened.push(name) } }),
  ];
  const bounds = new Map(['lakes', 'shapes'].map(bind));
  const layer = (name: string) => bounds.get(name) ?? null;
  const { request } = createTestApp({ deps: { catalog: { ...catalog, layer } } });
  const wms = '/service/wms?VERSION=1.1.1&SRS=EPSG:4326&BBOX=0,40,20,60&WIDTH=200&HEIGHT=200&X=50&Y=80';
  const addresses = [
    `${wms}&REQUEST=GetFeatureInfo&LAYERS=lakes&QUERY_LAYERS=lakes`,
    '/service/wms?REQUEST=GetLegendGraphic&LAYER=lakes',
    '/service/wmts/rest/lakes/light/EPSG:4326/EPSG:4326:0/0/0/1/1?format=text/plain',
    '/service/wmts?REQUEST=gettilejson&SERVICE=WMTS&LAYER=shapes',
    '/tiles/lakes/EPSG:4326/0/0/0.png',
  ];
  const body = JSON.stringify({ addresses });
  const { text } = await request('POST', '/api/v1/tile-addresses', { headers: JSON_BODY, body });
  expect(JSON.parse(text).pages).toEqual([null, null, null, null, [0, 0, 0, 0]]);
  expect(opened).toEqual([]);
});
