import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed, type Read, subset } from '../../../test/fixtures/http-app.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { createGridSubset } from '../../domain/grid-subset.ts';
import { createParameterFilter } from '../../domain/parameter-filter.ts';

/**
 * Every error that the services' pages promise. WMTS has a longer table of its own. A row: the address, the status,
 * the code and the locator where the service has such, and some words of the message.
 */
type Row = readonly [url: string, status: number, code: string | null, locator: string | null, words: string];

const catalog = catalogOf([
  layerNamed('world'),
  layerNamed('full', { fullWms: true }),
  layerNamed('plain', { parameters: [] }),
  layerNamed('asked', {
    infoFormats: ['text/plain'],
    parameters: [
      createParameterFilter({ name: 'TIME', defaultValue: '2024', values: ['2024', '2025'] }),
      createParameterFilter({ name: 'CQL_FILTER', regex: '[a-z]*' }),
    ],
  }),
  layerNamed('mercator', { gridSubsets: [subset('EPSG:900913', 3)] }),
  layerNamed('broken'),
  layerNamed('deep', {
    fullWms: true,
    gridSubsets: [createGridSubset(subset('EPSG:4326', 9).gridSet, { zoomStart: 8, zoomStop: 9 })],
  }),
  layerNamed('vectors', {
    formats: [layerNamed('x').formats[0]],
    gridSubsets: [subset('EPSG:4326', 3)],
  }),
]);

const failing = async (): Promise<never> => {
  throw new TilewardenError('source-unavailable', 'The map source could not be reached.');
};

function query(base: Record<string, string>, changes: Record<string, string | null>): string {
  const merged = Object.entries({ ...base, ...changes }).filter(([, value]) => value !== null);
  return new URLSearchParams(merged as [string, string][]).toString();
}

const MAP = {
  REQUEST: 'GetMap',
  LAYERS: 'world',
  STYLES: '',
  FORMAT: 'image/png',
  BBOX: '0,0,90,90',
  WIDTH: '256',
  HEIGHT: '256',
};
const older = (changes: Record<string, string | null>) =>
  `/service/wms?${query({ ...MAP, VERSION: '1.1.1', SRS: 'EPSG:4326' }, changes)}`;
const newer = (changes: Record<string, string | null>) =>
  `/service/wms?${query({ ...MAP, VERSION: '1.3.0', CRS: 'EPSG:4326' }, changes)}`;

const MISSING = ['LAYERS', 'FORMAT', 'BBOX', 'WIDTH', 'HEIGHT'] as const;
const missing = (map: typeof older): readonly Row[] =>
  MISSING.map((name) => [map({ [name]: null }), 400, 'MissingParameterValue', name, name]);

/** The same mistakes in both versions. */
const mapErrors = (map: typeof older): readonly Row[] => [
  ...missing(map),
  [map({ REQUEST: null }), 400, 'MissingParameterValue', 'REQUEST', 'REQUEST'],
  [map({ REQUEST: 'DescribeLayer' }), 501, 'OperationNotSupported', 'REQUEST', 'GetMap'],
  [map({ SERVICE: 'WFS' }), 400, 'InvalidParameterValue', 'SERVICE', 'This is a WMS'],
  [map({ LAYERS: 'missing' }), 400, 'LayerNotDefined', 'LAYERS', 'no layer missing'],
  [map({ LAYERS: 'full,missing' }), 400, 'LayerNotDefined', 'LAYERS', 'no layer missing'],
  [
    map({ LAYERS: 'full,world', BBOX: '0,0,45,50' }),
    400,
    'InvalidParameterValue',
    'BBOX',
    'Layer world is served as tiles',
  ],
  [map({ LAYERS: Array(21).fill('full').join() }), 400, 'InvalidParameterValue', 'LAYERS', 'at most 20'],
  [map({ LAYERS: 'full,full', STYLES: 'dark' }), 400, 'StyleNotDefined', 'STYLES', '2 layers and 1 styles'],
  [map({ STYLES: 'nice' }), 400, 'StyleNotDefined', 'STYLES', 'nice'],
  [map({ LAYERS: 'plain', STYLES: 'nice' }), 400, 'StyleNotDefined', 'STYLES', 'no style nice'],
  [map({ LAYERS: 'asked', TIME: '1999' }), 400, 'InvalidDimensionValue', 'TIME', '1999'],
  [map({ LAYERS: 'asked', CQL_FILTER: 'A' }), 400, 'InvalidParameterValue', 'CQL_FILTER', 'A'],
  [map({ FORMAT: 'image/bmp' }), 400, 'InvalidFormat', 'FORMAT', 'image/bmp'],
  [
    map({ FORMAT: 'application/vnd.mapbox-vector-tile' }),
    400,
    'InvalidFormat',
    'FORMAT',
    'image/png, image/jpeg',
  ],
  [map({ FORMAT: 'jpeg2000' }), 400, 'InvalidFormat', 'FORMAT', 'jpeg2000'],
  [map({ BBOX: '0,0,90' }), 400, 'InvalidParameterValue', 'BBOX', 'four numbers'],
  [map({ BBOX: '90,90,0,0' }), 400, 'InvalidParameterValue', 'BBOX', 'lower before'],
  [map({ BBOX: '0,0,NaN,90' }), 400, 'InvalidParameterValue', 'BBOX', 'four numbers'],
  [map({ BBOX: '20,20,110,110' }), 400, 'InvalidParameterValue', 'BBOX', 'not a tile of the grid EPSG:4326'],
  [map({ BBOX: '0,0,77,77' }), 400, 'InvalidParameterValue', 'BBOX', 'not a tile of the grid'],
  [map({ LAYERS: 'full', TILED: 'true', BBOX: '0,0,77,77' }), 400, 'InvalidParameterValue', 'BBOX', 'grid'],
  [map({ WIDTH: '0' }), 400, 'InvalidParameterValue', 'HEIGHT', 'at most'],
  [map({ WIDTH: '-5' }), 400, 'InvalidParameterValue', 'WIDTH', 'whole number'],
  [map({ WIDTH: '300' }), 400, 'InvalidParameterValue', 'WIDTH', '256×256'],
  [map({ HEIGHT: '300' }), 400, 'InvalidParameterValue', 'HEIGHT', '256×256'],
  [map({ LAYERS: 'full', WIDTH: '9000' }), 400, 'InvalidParameterValue', 'WIDTH', '8192'],
  [map({ LAYERS: 'full', HEIGHT: '8000', WIDTH: '8000' }), 400, 'InvalidParameterValue', 'WIDTH', '16777216'],
  [map({ LAYERS: 'deep', BBOX: '-80,-80,80,80' }), 400, 'InvalidParameterValue', 'BBOX', 'too many'],
  [map({ TRANSPARENT: 'maybe' }), 400, 'InvalidParameterValue', 'TRANSPARENT', 'TRUE or FALSE'],
  [map({ TILED: 'maybe' }), 400, 'InvalidParameterValue', 'TILED', 'TRUE or FALSE'],
  [map({ LAYERS: 'full', BGCOLOR: 'red' }), 400, 'InvalidParameterValue', 'BGCOLOR', '0xFFFFFF'],
  [`${map({})}&width=512`, 400, 'InvalidParameterValue', 'WIDTH', 'twice'],
  [map({ LAYERS: 'broken' }), 502, null, null, 'could not be reached'],
];

const INFO = { REQUEST: 'GetFeatureInfo', LAYERS: 'asked', QUERY_LAYERS: 'asked', INFO_FORMAT: 'text/plain' };
const infoErrors = (map: typeof older, [column, row]: readonly [string, string]): readonly Row[] => {
  const info = (changes: Record<string, string | null>) =>
    map({ ...INFO, [column]: '1', [row]: '1', ...changes });
  return [
    [info({ QUERY_LAYERS: null }), 400, 'MissingParameterValue', 'QUERY_LAYERS', 'QUERY_LAYERS'],
    [info({ QUERY_LAYERS: 'missing' }), 400, 'LayerNotDefined', 'QUERY_LAYERS', 'missing'],
    [info({ QUERY_LAYERS: 'full' }), 400, 'LayerNotDefined', 'QUERY_LAYERS', 'not among LAYERS'],
    [
      info({ LAYERS: 'world', QUERY_LAYERS: 'world' }),
      400,
      'LayerNotQueryable',
      'QUERY_LAYERS',
      'does not support GetFeatureInfo',
    ],
    [info({ INFO_FORMAT: 'text/html' }), 400, 'InvalidFormat', 'INFO_FORMAT', 'text/plain'],
    [info({ [column]: null }), 400, 'MissingParameterValue', column, column],
    [info({ [row]: null }), 400, 'MissingParameterValue', row, row],
    [info({ [column]: '256' }), 400, 'InvalidPoint', column, '0 and 255'],
    [info({ [row]: '-1' }), 400, 'InvalidPoint', row, 'whole number'],
    [info({ FEATURE_COUNT: '0' }), 400, 'InvalidParameterValue', 'FEATURE_COUNT', '1 and 100'],
    [info({ FEATURE_COUNT: '101' }), 400, 'InvalidParameterValue', 'FEATURE_COUNT', '1 and 100'],
  ];
};

const WMS_111: readonly Row[] = [
  ...mapErrors(older),
  ...infoErrors(older, ['X', 'Y']),
  [older({ SRS: null }), 400, 'MissingParameterValue', 'SRS', 'SRS'],
  [older({ SRS: 'EPSG:2154' }), 400, 'InvalidSRS', 'SRS', 'EPSG:3857, EPSG:900913, EPSG:4326'],
  [older({ SRS: 'somewhere' }), 400, 'InvalidSRS', 'SRS', 'such as EPSG:3857'],
  [older({ VERSION: '2.0.0' }), 400, 'InvalidParameterValue', 'VERSION', '1.1.1 and 1.3.0'],
];

const WMS_130: readonly Row[] = [
  ...mapErrors(newer),
  ...infoErrors(newer, ['I', 'J']),
  [newer({ CRS: null }), 400, 'MissingParameterValue', 'CRS', 'CRS'],
  [newer({ CRS: 'EPSG:2154' }), 400, 'InvalidCRS', 'CRS', 'CRS:84'],
  [newer({ CRS: 'AUTO2:42001' }), 400, 'InvalidCRS', 'CRS', 'such as EPSG:3857'],
];

/** Those that answer one line of text. */
const PLAIN: readonly Row[] = [
  ['/service/tms/1.1.0', 400, null, null, '1.0.0'],
  ['/service/tms/1.0.0/missing@EPSG:4326@png', 404, null, null, 'missing'],
  ['/service/tms/1.0.0/world@EPSG:2154@png', 400, null, null, 'EPSG:2154'],
  ['/service/tms/1.0.0/world@EPSG:4326@gif', 400, null, null, 'gif'],
  ['/service/tms/1.0.0/world/0/0/0.gif', 400, null, null, 'gif'],
  ['/service/tms/1.0.0/world/0/9/0.png', 404, null, null, 'no tile'],
  ['/service/tms/1.0.0/world/40/0/0.png', 404, null, null, '40'],
  ['/service/tms/1.0.0/world/a/0/0.png', 400, null, null, 'zoom'],
  ['/service/tms/1.0.0/world/0/01/0.png', 400, null, null, 'column'],
  ['/service/tms/1.0.0/world/0/0/-1.png', 400, null, null, 'row'],
  ['/service/tms/1.0.0/world/0/0/0', 400, null, null, 'extension'],
  ['/service/tms/1.0.0/world/0/0/0.png?STYLES=nice', 400, null, null, 'nice'],
  ['/service/tms/1.0.0/broken/0/0/0.png', 502, null, null, 'reached'],

  ['/service/gmaps?zoom=0&x=0&y=0', 400, null, null, 'layers'],
  ['/service/gmaps?layers=world&x=0&y=0', 400, null, null, 'zoom'],
  ['/service/gmaps?layers=world&zoom=0&y=0', 400, null, null, 'x'],
  ['/service/gmaps?layers=world&zoom=0&x=0', 400, null, null, 'y'],
  ['/service/gmaps?layers=missing&zoom=0&x=0&y=0', 404, null, null, 'missing'],
  ['/service/gmaps?layers=world&zoom=0&x=1&y=0', 400, null, null, 'The X coordinate is not sane: 1'],
  ['/service/gmaps?layers=world&zoom=0&x=0&y=-1', 400, null, null, 'The Y coordinate is not sane: -1'],
  ['/service/gmaps?layers=world&zoom=a&x=0&y=0', 400, null, null, 'zoom must be'],
  ['/service/gmaps?layers=world&zoom=40&x=0&y=0', 404, null, null, '40'],
  ['/service/gmaps?layers=vectors&zoom=0&x=0&y=0', 400, null, null, 'web mercator'],
  ['/service/gmaps?layers=world&zoom=0&x=0&y=0&format=image/bmp', 400, null, null, 'image/bmp'],
  ['/service/gmaps?layers=world&zoom=0&x=0&y=0&cached=false', 400, null, null, 'bypassing the cache'],
  ['/service/gmaps?layers=world&zoom=0&x=0&x=1&y=0', 400, null, null, 'twice'],
  ['/service/gmaps?layers=broken&zoom=0&x=0&y=0', 502, null, null, 'reached'],

  ['/service/ve?layers=world', 400, null, null, 'quadkey'],
  ['/service/ve?layers=world&quadkey=4', 400, null, null, '4'],
  ['/service/ve?quadkey=0', 400, null, null, 'layers'],
  ['/service/ve?layers=missing&quadkey=0', 404, null, null, 'missing'],
  ['/service/ve?layers=broken&quadkey=0', 502, null, null, 'reached'],

  ['/service/kml/missing.kml', 404, null, null, 'missing'],
  ['/service/kml/world.txt', 400, null, null, '.kml or .kmz'],
  ['/service/kml/world.gif.kml', 400, null, null, 'gif'],
  ['/service/kml/world.kml?STYLES=nice', 400, null, null, 'nice'],
  ['/service/kml/missing/x0y0z0.png', 404, null, null, 'missing'],
  ['/service/kml/world/tile.png', 400, null, null, 'x1y2z3.png'],
  ['/service/kml/world/x01y0z0.png', 400, null, null, 'x1y2z3.png'],
  ['/service/kml/world/x0y0z0.gif', 400, null, null, 'gif'],
  ['/service/kml/world/x9y0z0.png', 404, null, null, 'columns'],
  ['/service/kml/world/x9y0z0.png.kml', 404, null, null, 'x9y0z0'],
  ['/service/kml/world/x0y0z40.png.kml', 404, null, null, '40'],
  ['/service/kml/broken/x0y0z0.png', 502, null, null, 'reached'],
];

function open() {
  const read: Read = async (tiles) => {
    if (tiles.set.layer === 'broken') return failing();
    throw new Error('no tile is read here');
  };
  return createTestApp({ deps: { catalog, pipeline: { read } } });
}

const attribute = (text: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(text)?.[1] ?? null;

describe('what is wrong', () => {
  it.each([
    ...WMS_111.map((row) => [...row, 'application/vnd.ogc.se_xml; charset=utf-8'] as const),
    ...WMS_130.map((row) => [...row, 'text/xml; charset=utf-8'] as const),
  ])('an error for %s has status %i, code %s at %s', async (url, status, code, locator, words, type) => {
    const { headers, text, ...answer } = await open().request('GET', url);
    expect([answer.status, text.includes('ServiceExceptionReport')]).toEqual([status, true]);
    expect([attribute(text, 'code'), attribute(text, 'locator')]).toEqual([code, locator]);
    expect(text).toContain(words);
    if (!url.includes('VERSION=2.0.0')) expect(headers['content-type']).toBe(type);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' });
    expect(headers['retry-after'] !== undefined).toBe(status >= 502);
  });

  it.each(PLAIN)('an error for %s has status %i', async (url, status, _code, _locator, words) => {
    const { headers, text, ...answer } = await open().request('GET', url);
    expect([answer.status, text]).toEqual([status, expect.stringContaining(words)]);
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' });
    expect(text.trimEnd()).not.toContain('\n');
    expect(headers['retry-after'] !== undefined).toBe(status >= 502);
  });
});
