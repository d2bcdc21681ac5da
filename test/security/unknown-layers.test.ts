import { expect, it } from 'vitest';
import type { Layer } from '../../src/domain/layer.ts';
import { createParameterFilter } from '../../src/domain/parameter-filter.ts';
import { catalogOf, format, layerNamed, openAccountApp, subset, tileResponse } from '../fixtures/http-app.ts';
import { inLength, isLong } from '../fixtures/length.ts';
import { everyRoute } from './every-route.ts';

/** All names have the same length: a response may repeat the name, and must not differ otherwise. */
const CLOSED = { access: 'authenticated' } as const;
const parameters = [createParameterFilter({ name: 'ELEVATION', defaultValue: '0', values: ['0', '9'] })];
const LAYERS = [
  layerNamed('world'),
  layerNamed('closed', CLOSED),
  layerNamed('absent', { ...CLOSED, enabled: false }),
  layerNamed('vector', { ...CLOSED, formats: [format('application/vnd.mapbox-vector-tile')], parameters }),
  layerNamed('square', { ...CLOSED, gridSubsets: [subset('EPSG:900913', 3)], parameters: [] }),
];
const UNKNOWN = 'ghosts';
const HIDDEN = LAYERS.slice(1).map(({ name }) => name);

/** Valid and invalid values in the path; `LAYER` is the layer's name. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  layer: ['LAYER'],
  segment0: ['LAYER'],
  version: ['1.0.0', '2'],
  map: [
    'LAYER',
    'LAYER@EPSG:900913@png',
    'LAYER@EPSG:4326@pbf',
    'LAYER@X@png',
    'LAYER@EPSG:900913@x',
    'LAYER@png',
  ],
  document: ['LAYER.kml', 'LAYER.png.kml', 'LAYER.pbf.kmz', 'LAYER.x.kml', 'LAYER'],
  tile: ['0.png', '0.pbf', '0.x', '0', '9.png', '-1.png', 'x0y0z0.png', 'x9y9z9.pbf.kml', 'x'],
  gridSet: ['EPSG:900913', 'EPSG:4326', 'WebMercatorQuad', 'X'],
  style: ['light', 'default', 'X'],
  matrix: ['0', 'EPSG:900913:0', 'X'],
  row: ['0', '9', 'X'],
  column: ['0', '9', 'X'],
  extension: ['png', 'pbf', 'X'],
};
const USUAL = ['0', '99', 'X'];

const WMTS =
  'SERVICE=WMTS&VERSION=1.0.0&LAYER=LAYER&STYLE=&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:0&TILEROW=0&TILECOL=0';
const WMS =
  'SERVICE=WMS&VERSION=1.1.1&LAYERS=LAYER&QUERY_LAYERS=LAYER&STYLES=&SRS=EPSG:900913&BBOX=-20037508.34,-20037508.34,20037508.34,20037508.34&WIDTH=256&HEIGHT=256&FORMAT=image/png';
const GMAPS = 'LAYERS=LAYER&ZOOM=0&X=0&Y=0&QUADKEY=0&FORMAT=image/png';
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/tiles.json': ['layer=LAYER', 'layer=LAYER&brief=true'],
  '/service/wmts': ['GetTile', 'GetFeatureInfo', 'GetTileJson', 'GetCapabilities', 'X'].flatMap((name) =>
    spoilt(`${WMTS}&REQUEST=${name}&INFOFORMAT=text/plain&I=0&J=0`),
  ),
  '/service/wms': ['GetMap', 'GetFeatureInfo', 'GetLegendGraphic', 'GetCapabilities', 'X'].flatMap((name) =>
    spoilt(`${WMS}&REQUEST=${name}&INFO_FORMAT=text/plain&X=0&Y=0&TILED=true`),
  ),
  '/service/gmaps': spoilt(GMAPS),
  '/service/mgmaps': spoilt(GMAPS),
  '/service/ve': spoilt(GMAPS),
};
const ANY_QUERY = ['', 'STYLES=X&gridSet=X', 'format=image/png&f=json', 'format=X&f=X'];

/** The query, and it with each value in turn wrong, and missing. */
function spoilt(query: string): readonly string[] {
  const pairs = query.split('&');
  const without = (at: number, instead: readonly string[]) =>
    [...pairs.slice(0, at), ...instead, ...pairs.slice(at + 1)].join('&');
  const others = pairs.flatMap((pair, at) =>
    pair.includes('LAYER=') || pair.includes('LAYERS=LAYER')
      ? []
      : [without(at, []), without(at, [pair.replace(/=.*/, '=X')])],
  );
  return [query, ...others];
}

function addresses(path: string): readonly string[] {
  const [, name] = /\{(\w+)\}/.exec(path) ?? [];
  if (name === undefined) return (QUERIES[path.replace(/\/$/, '')] ?? []).map((query) => `${path}?${query}`);
  return fill(path).flatMap((address) => ANY_QUERY.map((query) => (query ? `${address}?${query}` : address)));
}

/** The address, and it with each part in turn wrong. */
function fill(path: string): readonly string[] {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  const valuesOf = (name: string) => VALUES[name] ?? USUAL;
  const written = (given: Readonly<Record<string, string>>) =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => given[name] ?? valuesOf(name)[0] ?? '');
  return [
    written({}),
    ...names.flatMap((name) =>
      valuesOf(name)
        .slice(1)
        .map((value) => written({ [name]: value })),
    ),
  ];
}

/** Addresses of MapProxy and MapCache, with grids that all layers, some and none of them have. */
const FOREIGN = ['GLOBAL_WEBMERCATOR', 'EPSG:4326', 'X'].flatMap((grid) => [
  ...[0, 99].flatMap((z) => [
    `/wmts/LAYER/${grid}/${z}/0/0.png`,
    `/wmts/folder/LAYER/${grid}/${z}/0/00.png`,
    `/tms/1.0.0/LAYER/${grid}/${z}/0/0.png`,
    `/tms/1.0.0/LAYER/${z}/0/9.png`,
    `/tms/1.0.0/LAYER@${grid}/${z}/0/0.png`,
    `/tiles/1.0.0/LAYER/${grid}/${z}/0/0.png?origin=nw`,
    `/kml/LAYER/${grid}/${z}/0/0.png`,
    `/wmts/1.0.0/LAYER/light/${grid}/${z}/0/0.png`,
    `/service?SERVICE=WMTS&REQUEST=GetTile&LAYER=LAYER&FORMAT=png&TILEMATRIXSET=${grid}&TILEMATRIX=${z}&TILEROW=0&TILECOL=0`,
  ]),
  '/tms/1.0.0/LAYER',
  `/tms/1.0.0/LAYER/${grid}`,
]);

const OURS = everyRoute()
  .filter(({ method, role, path }) => method === 'GET' && role === 'public' && path !== '/readyz')
  .flatMap(({ path }) => addresses(path));
const EVERYTHING = [...FOREIGN, ...OURS];

/** The key is one for the layer world. */
it.each<[string, (key: string) => Record<string, string>, number]>([
  ['a stranger', () => ({}), 1],
  ['a reader with a key for another layer', (key) => ({ 'x-api-key': key }), inLength(5, 1)],
])(
  'for %s a closed or disabled layer is indistinguishable from an unknown one',
  async (_who, headersFor, every) => {
    const deps = { pipeline: { read: async () => tileResponse() }, catalog: catalogOf(LAYERS) };
    const options = { compatibility: ['mapproxy', 'mapcache'] } as const;
    const { app, send } = await openAccountApp({ deps, options });
    const created = await send('POST', '/api/v1/keys', { name: 'other', layers: ['world'] });
    const headers = headersFor(JSON.parse(created.text).key);
    async function responseTo(address: string, layer: string): Promise<string> {
      const answer = await app.request('GET', address.replaceAll('LAYER', layer), { headers });
      const { date: _, 'x-request-id': __, ...rest } = answer.headers;
      const text = answer.text.replace(/request \S+\./, '');
      return JSON.stringify({ status: answer.status, rest, text }).replaceAll(layer, 'LAYER');
    }
    const differing: string[] = [];
    const asked = EVERYTHING.filter((_, at) => at % every === 0);
    for (const [place, address] of asked.entries()) {
      const unknown = await responseTo(address, UNKNOWN);
      // In the short form two of them in turn.
      for (const layer of HIDDEN.filter((_, at) => isLong || (at + place) % 2 === 0)) {
        const hidden = await responseTo(address, layer);
        if (hidden !== unknown) differing.push(`${address} ${layer}: ${hidden}, not ${unknown}`);
      }
    }
    process.stdout.write(
      `${asked.length} addresses of ${HIDDEN.length} layers, ${differing.length} distinguishable\n`,
    );
    expect(EVERYTHING.length).toBeGreaterThan(500);
    expect(differing.slice(0, 20)).toEqual([]);
  },
);

it.each<[string, Partial<Layer>]>([
  ['disabled', { enabled: false }],
  ['left out of documents', { advertised: false }],
])('a single closed layer that is %s is indistinguishable from an unknown one', async (_what, more) => {
  const layers = [layerNamed('world'), layerNamed('closed', { ...CLOSED, ...more })];
  const { app } = await openAccountApp({ deps: { catalog: catalogOf(layers) } });
  for (const layer of ['closed', UNKNOWN])
    expect((await app.request('GET', `/tiles/${layer}/0/0/0.png`)).status).toBe(401);
});
