import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  layerNamed,
  type Read,
  tileResponse,
} from '../../../test/fixtures/http-app.ts';
import { createTimeFilter } from '../../domain/time-filter.ts';
import { readTimeValues } from '../../domain/time-values.ts';

let now = Date.parse('2026-06-15T10:30:00Z');

function timed(name: string, nearest: boolean, values: readonly string[]) {
  const list = { values: readTimeValues(values), revision: 0 };
  const options = {
    name: 'TIME',
    list: () => list,
    defaultValue: 'latest',
    nearest,
    keep: null,
    now: () => now,
  };
  return layerNamed(name, { parameters: [createTimeFilter(options)], fullWms: true });
}

function open() {
  const asked: string[] = [];
  const read: Read = async ({ set, selection }) => {
    asked.push(`${set.parametersId === null ? 'default' : 'named'} ${selection.values.get('TIME')}`);
    return tileResponse();
  };
  const radar = timed('radar', false, ['2026-01-01T00:00:00Z/now/PT1H', '2025-12-24']);
  const catalog = catalogOf([radar, timed('snow', true, ['2026-01-01/2026-03-31/P1M'])]);
  return { asked, ...createTestApp({ deps: { catalog, pipeline: { read } } }) };
}

const MAP = '/service/wms?REQUEST=GetMap&STYLES=&FORMAT=image/png&BBOX=0,0,90,90&WIDTH=256&HEIGHT=256';
const WMS = `${MAP}&VERSION=1.1.1&SRS=EPSG:4326`;
const WMTS =
  '/service/wmts?Service=WMTS&version=1.0.0&request=GetTile&style=&format=image/png' +
  '&tilematrixset=EPSG:4326&tilematrix=EPSG:4326:1&tilerow=0&tilecol=3';
const REST = '/service/wmts/rest/radar/default/EPSG:4326/EPSG:4326:1/0/3?format=image/png';

it.each([
  ['/tiles/radar/1/0/0.png?', '', '2026-06-15T10:00:00Z'],
  ['/tiles/radar/1/0/0.png?', 'time=latest', '2026-06-15T10:00:00Z'],
  ['/tiles/radar/1/0/0?', 'Time=current', '2026-06-15T10:00:00Z'],
  ['/tiles/radar/1/0/0.png?', 'TIME=2026-02-03T05:00%2B01:00', '2026-02-03T04:00:00Z'],
  [`${WMS}&LAYERS=radar&`, 'TIME=2026-02-03T04Z', '2026-02-03T04:00:00Z'],
  [`${WMS}&LAYERS=radar&`, '', '2026-06-15T10:00:00Z'],
  [`${WMTS}&layer=radar&`, 'TIME=2025-12-24T00:00:00Z', '2025-12-24'],
  [`${WMTS}&layer=radar&`, 'TIME=default', '2026-06-15T10:00:00Z'],
  [`${REST}&`, 'TIME=2026-02-03T04:00:00.000Z', '2026-02-03T04:00:00Z'],
  [REST.replace('EPSG', '2026-02-03T04:00Z/EPSG'), '', '2026-02-03T04:00:00Z'],
  [REST.replace('EPSG', 'current/EPSG'), '', '2026-06-15T10:00:00Z'],
])('a tile at %s%s is one of the listed instant', async (path, query, instant) => {
  const { request, asked } = open();
  const answer = await request('GET', `${path}${query}`);
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers.warning).toBeUndefined();
  expect(asked).toEqual([`named ${instant}`]);
});

it('the latest instant is another one when an hour has passed, at the same address', async () => {
  const { request, asked } = open();
  await request('GET', '/tiles/radar/1/0/0.png');
  now += 3_600_000;
  await request('GET', '/tiles/radar/1/0/0.png');
  expect(asked).toEqual(['named 2026-06-15T10:00:00Z', 'named 2026-06-15T11:00:00Z']);
  now -= 3_600_000;
});

it('an instant that is not listed is refused, by WMS with its code', async () => {
  const { request, asked } = open();
  for (const time of ['2026-02-03T04:30Z', '2027', 'yesterday', '2026-01-01/2026-01-02']) {
    const query = `TIME=${encodeURIComponent(time)}`;
    expect((await request('GET', `/tiles/radar/1/0/0.png?${query}`)).status).toBe(400);
    for (const version of ['1.1.1&SRS=EPSG:4326', '1.3.0&CRS=EPSG:4326']) {
      const wms = await request('GET', `${MAP}&LAYERS=radar&VERSION=${version}&${query}`);
      expect(wms.status, wms.text).toBe(400);
      expect(wms.text).toContain('code="InvalidDimensionValue"');
    }
    expect((await request('GET', `${WMTS}&layer=radar&${query}`)).status).toBe(400);
  }
  expect(asked).toEqual([]);
});

describe('WMS 1.3.0, annex D', () => {
  const mapOf = (layer: string, time: string) =>
    `${MAP}&VERSION=1.3.0&CRS=EPSG:4326&LAYERS=${layer}&TIME=${encodeURIComponent(time)}`;
  const openWith = (values: string) => {
    const asked: (string | undefined)[] = [];
    const read: Read = async ({ selection }) => {
      asked.push(selection.values.get('TIME'));
      return tileResponse();
    };
    const catalog = catalogOf([timed('map', false, [values])]);
    return { asked, ...createTestApp({ deps: { catalog, pipeline: { read } } }) };
  };

  it.each([
    ['a year', '1999/2026/P1Y', '2001', '2001'],
    ['the first and the last year of four digits', '0000,9999', '0000', '0000'],
    ['a month', '1999-11/2026-03/P1M', '2001-02', '2001-02'],
    ['a day', '2024-02-28/2024-03-01/P1D', '2024-02-29', '2024-02-29'],
    ['an hour', '2026-01-01T00Z/2026-01-02T00Z/PT1H', '2026-01-01T07Z', '2026-01-01T07:00:00Z'],
    [
      'fractions of a second',
      '2026-01-01T00:00:00.250Z',
      '2026-01-01T00:00:00.25Z',
      '2026-01-01T00:00:00.250Z',
    ],
    ['without Z', '2026-01-01T06:00:00Z', '2026-01-01T06:00:00', '2026-01-01T06:00:00Z'],
    ['weeks', '2026-01-01/2026-03-01/P2W', '2026-01-29', '2026-01-29'],
    ['minutes', '2026-01-01T00:00Z/2026-01-01T01:00Z/PT15M', '2026-01-01T00:45Z', '2026-01-01T00:45:00Z'],
    [
      'seconds',
      '2026-01-01T00:00Z/2026-01-01T01:00Z/PT0.5S',
      '2026-01-01T00:00:07.5Z',
      '2026-01-01T00:00:07.500Z',
    ],
    [
      'several units',
      '2026-01-01T00:00Z/2026-12-31T00:00Z/P1M1DT6H',
      '2026-02-02T06:00Z',
      '2026-02-02T06:00:00Z',
    ],
    ['a list', '2026-01-01,2026-01-05, 2026-02', '2026-02', '2026-02'],
    ['lists and intervals', '1980,2026-01-01/2026-01-09/P2D', '2026-01-05', '2026-01-05'],
    ['an interval that is still open', '2026-06-01/current/P1D', '2026-06-15', '2026-06-15'],
  ])('%s: %s lists %s', async (_form, values, time, instant) => {
    const { request, asked } = openWith(values);
    const answer = await request('GET', mapOf('map', time));
    expect([answer.status, asked]).toEqual([200, [instant]]);
  });

  it.each([
    ['a year before 0', '-0044-03-15'],
    ['a year before Christ', 'B0044'],
    ['a year of five digits', '12026-01-01'],
    ['a year of five digits with its sign', '+12026-01-01'],
    ['thousands of years', 'K0150'],
    ['a month that there is not', '2026-13'],
    ['a day that there is not', '2026-02-29'],
    ['the basic format', '20260101T000000Z'],
    ['a list of values', '2026-01-01,2026-01-02'],
    ['an interval', '2026-01-01/2026-01-05'],
    ['an interval with a period', '2026-01-01/2026-01-05/P1D'],
    ['an interval without a start', '/2026-01-05'],
    ['a value after the last one', '2026-06-16'],
  ])('%s is refused with its code: %s', async (_what, time) => {
    const { request, asked } = openWith('2026-01-01/now/P1D');
    const answer = await request('GET', mapOf('map', time));
    expect([answer.status, asked]).toEqual([400, []]);
    expect(answer.text).toContain('code="InvalidDimensionValue"');
    expect(answer.text).toContain('2026-01-01/2026-06-15/P1D');
  });

  it.each([
    '-0044/2026/P1Y',
    '2026/12026/P1Y',
    '../2026/P1Y',
    '2026/2027/P1S',
    '2026-01-01//P1D',
    '2026/2027/1/P1Y',
  ])('a layer cannot list %s', (values) =>
    expect(() => readTimeValues([values])).toThrow('must be a time such as'),
  );
});

it('the nearest value is named in a header, also of composed maps', async () => {
  const { request, asked } = open();
  const note = 'Nearest value used: time=2026-02-01 ISO8601';
  for (const path of ['/tiles/snow/1/0/0.png?', `${WMS}&LAYERS=snow&`]) {
    const { headers, status } = await request('GET', `${path}TIME=2026-02-07`);
    expect(status).toBe(200);
    expect(headers.warning).toBe(`99 tilewarden "${note}"`);
    expect((await request('GET', `${path}TIME=2026-02-01`)).headers.warning).toBeUndefined();
  }
  expect(new Set(asked)).toEqual(new Set(['named 2026-02-01']));
});

it('capabilities list times as the standards write them, and follow the clock', async () => {
  const { request } = open();
  const document = async (query: string) => (await request('GET', `/service/${query}`)).text;
  const values = '2025-12-24,2026-01-01T00:00:00Z/2026-06-15T10:00:00Z/PT1H';
  const attributes = 'default="2026-06-15T10:00:00Z" nearestValue="0" current="1"';
  const newer = 'wms?REQUEST=GetCapabilities&SERVICE=WMS&VERSION=1.3.0';
  expect(await document(newer)).toContain(
    `<Dimension name="time" units="ISO8601" ${attributes}>${values}</Dimension>`,
  );
  expect(await document(newer)).toContain(
    'nearestValue="1" current="1">2026-01-01/2026-03-01/P1M</Dimension>',
  );
  const older = await document('wms?REQUEST=GetCapabilities&SERVICE=WMS&VERSION=1.1.1');
  expect(older).toContain('<Dimension name="time" units="ISO8601"/>');
  expect(older).toContain(`<Extent name="time" ${attributes}>${values}</Extent>`);
  const wmts = await document('wmts?REQUEST=GetCapabilities&SERVICE=WMTS');
  const listed = values.split(',').map((value) => `<Value>${value}</Value>`);
  expect(wmts).toContain(
    `<Dimension><ows:Identifier>TIME</ows:Identifier><ows:UOM>ISO8601</ows:UOM><Default>2026-06-15T10:00:00Z</Default><Current>true</Current>${listed.join('\n')}</Dimension>`,
  );
  expect(wmts).toContain('/radar/{style}/{TIME}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}?format=');
  now += 3_600_000;
  expect(await document(newer)).toContain('2026-01-01T00:00:00Z/2026-06-15T11:00:00Z/PT1H');
  now -= 3_600_000;
});
