import { describe, expect, it } from 'vitest';
import {
  catalogOf,
  createTestApp,
  format,
  layerNamed,
  type Read,
} from '../../../../test/fixtures/http-app.ts';
import { TilewardenError } from '../../../domain/errors.ts';
import { createParameterFilter } from '../../../domain/parameter-filter.ts';
import { readXml } from '../../../lib/xml/read-xml.ts';

const GOOD = {
  SERVICE: 'WMTS',
  REQUEST: 'GetTile',
  LAYER: 'world',
  STYLE: 'dark',
  FORMAT: 'image/png',
  TILEMATRIXSET: 'EPSG:900913',
  TILEMATRIX: 'EPSG:900913:3',
  TILEROW: '2',
  TILECOL: '5',
};

function asking(changes: Readonly<Record<string, string | null>>): string {
  const pairs = Object.entries({ ...GOOD, ...changes }).filter(
    (pair): pair is [string, string] => pair[1] !== null,
  );
  return `/service/wmts?${new URLSearchParams(pairs)}`;
}

function appWithLayers(read?: Read) {
  const parameters = [
    createParameterFilter({ name: 'STYLES', defaultValue: 'light', values: ['light', 'dark'] }),
    createParameterFilter({ name: 'TIME', defaultValue: '2024', values: ['2024', '2025'] }),
    createParameterFilter({ name: 'CQL_FILTER', defaultValue: '', regex: '[A-Z]+ = [0-9]+' }),
  ];
  const catalog = catalogOf([
    layerNamed('world', { parameters }),
    layerNamed('jpeg', { formats: [format('image/jpeg')] }),
  ]);
  return createTestApp({ deps: { catalog, ...(read && { pipeline: { read } }) } });
}

function reportIn(text: string) {
  const report = readXml(text);
  const [exception] = report.children;
  return {
    root: report.name,
    namespace: report.attributes.get('xmlns'),
    version: report.attributes.get('version'),
    code: exception?.attributes.get('exceptionCode'),
    locator: exception?.attributes.get('locator') ?? null,
    text: exception?.children[0]?.text ?? '',
  };
}

const REST = '/service/wmts/rest/world/dark/EPSG:900913/EPSG:900913:3';

/** Every error that the standard or GeoWebCache documents: address, status, code, locator, words of the text. */
const ERRORS: readonly (readonly [string, number, string, string | null, string])[] = [
  ['/service/wmts?LAYER=world', 400, 'MissingParameterValue', 'request', 'is missing'],
  [asking({ REQUEST: null }), 400, 'MissingParameterValue', 'request', 'is missing'],
  [asking({ REQUEST: '' }), 400, 'MissingParameterValue', 'request', 'is missing'],
  [asking({ REQUEST: 'GetMap' }), 400, 'InvalidParameterValue', 'request', "Invalid request name 'GetMap'."],
  [asking({ SERVICE: 'WMS' }), 400, 'InvalidParameterValue', 'SERVICE', 'not a WMS'],
  [asking({ LAYER: null }), 400, 'MissingParameterValue', 'LAYER', 'is missing'],
  [asking({ LAYER: 'mars' }), 400, 'InvalidParameterValue', 'LAYER', 'LAYER mars is not known.'],
  [asking({ FORMAT: null }), 400, 'MissingParameterValue', 'FORMAT', 'is missing'],
  [
    asking({ FORMAT: 'image/x' }),
    400,
    'InvalidParameterValue',
    'FORMAT',
    'Unable to determine requested FORMAT, image/x',
  ],
  [asking({ LAYER: 'jpeg' }), 400, 'InvalidParameterValue', 'FORMAT', 'it has image/jpeg'],
  [asking({ TILEMATRIXSET: null }), 400, 'MissingParameterValue', 'TILEMATRIXSET', 'is missing'],
  [
    asking({ TILEMATRIXSET: 'EPSG:1' }),
    400,
    'InvalidParameterValue',
    'TILEMATRIXSET',
    'it has EPSG:900913, EPSG:4326',
  ],
  [asking({ TILEMATRIX: null }), 400, 'MissingParameterValue', 'TILEMATRIX', 'is missing'],
  [asking({ TILEMATRIX: 'x:3' }), 400, 'InvalidParameterValue', 'TILEMATRIX', 'Unknown TILEMATRIX x:3'],
  [
    asking({ TILEMATRIX: 'EPSG:900913:13' }),
    400,
    'InvalidParameterValue',
    'TILEMATRIX',
    'Unknown TILEMATRIX',
  ],
  [asking({ TILEROW: null }), 400, 'MissingParameterValue', 'TILEROW', 'is missing'],
  [asking({ TILEROW: '1.5' }), 400, 'InvalidParameterValue', 'TILEROW', 'whole number'],
  [asking({ TILEROW: '8' }), 400, 'TileOutOfRange', 'TILEROW', 'Row 8 is out of range, min: 0 max:7'],
  [asking({ TILECOL: null }), 400, 'MissingParameterValue', 'TILECOL', 'is missing'],
  [asking({ TILECOL: '05' }), 400, 'InvalidParameterValue', 'TILECOL', 'whole number'],
  [asking({ TILECOL: '-1' }), 400, 'TileOutOfRange', 'TILECOL', 'Column -1 is out of range, min: 0 max:7'],
  [asking({ TILECOL: '99999999999' }), 400, 'TileOutOfRange', 'TILECOL', 'out of range'],
  [asking({ STYLE: 'neon' }), 400, 'InvalidParameterValue', 'STYLE', 'allowed: light, dark'],
  [asking({ TIME: '1999' }), 400, 'InvalidParameterValue', 'TIME', 'allowed: 2024, 2025'],
  [asking({ CQL_FILTER: 'drop' }), 400, 'InvalidParameterValue', 'CQL_FILTER', 'violates filter'],
  [`${asking({})}&layer=mars`, 400, 'InvalidParameterValue', 'LAYER', 'given twice'],
  [
    asking({ REQUEST: 'GetFeatureInfo', I: '1', J: '1' }),
    501,
    'OperationNotSupported',
    'GetFeatureInfo',
    'does not support GetFeatureInfo',
  ],
  [asking({ REQUEST: 'GetCapabilities', LAYER: 'mars' }), 400, 'InvalidParameterValue', 'LAYER', 'not known'],
  [
    '/service/wmts?REQUEST=GetCapabilities&AcceptVersions=2.0.0',
    400,
    'VersionNegotiationFailed',
    null,
    '1.0.0',
  ],
  [`${REST}/2/5`, 400, 'MissingParameterValue', 'FORMAT', 'is missing'],
  [`${REST}/8/5?format=image/png`, 400, 'TileOutOfRange', 'TILEROW', 'Row 8'],
  [`${REST.replace('world', 'mars')}/2/5?format=image/png`, 400, 'InvalidParameterValue', 'LAYER', 'mars'],
  [`${REST.replace('dark', 'neon')}/2/5?format=image/png`, 400, 'InvalidParameterValue', 'STYLE', 'neon'],
  [
    `${REST}/2/5/10/10?format=text/plain`,
    501,
    'OperationNotSupported',
    'GetFeatureInfo',
    'does not support GetFeatureInfo',
  ],
];

describe('what is wrong with a WMTS request', () => {
  it.each(ERRORS)('is told for %s by %i, %s at %s', async (url, status, code, locator, words) => {
    const answer = await appWithLayers().request('GET', url);
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/xml; charset=utf-8',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
    });
    expect(reportIn(answer.text)).toEqual({
      root: 'ExceptionReport',
      namespace: 'http://www.opengis.net/ows/1.1',
      version: '1.1.0',
      code,
      locator,
      text: expect.stringContaining(words),
    });
  });

  it('is told without markup of the caller', async () => {
    const { text } = await appWithLayers().request('GET', asking({ LAYER: '<b>&"\u0001' }));
    expect(text).not.toContain('<b>');
    expect(reportIn(text).text).toBe('LAYER <b>&"\ufffd is not known.');
  });
});

describe('a tile that a WMTS cannot give', () => {
  it('because its source is down is told with the time to come back', async () => {
    const read: Read = async () => {
      throw new TilewardenError('source-unavailable', 'Not now.', { retryAfterSeconds: 6.2 });
    };
    const answer = await appWithLayers(read).request('GET', asking({}));
    expect(answer.status).toBe(502);
    expect(answer.headers).toMatchObject({ 'retry-after': '7', 'cache-control': 'no-store' });
    expect(reportIn(answer.text)).toMatchObject({
      code: 'NoApplicableCode',
      locator: null,
      text: 'Not now.',
    });
  });

  it('for an unexpected reason names the request, and the log has the rest', async () => {
    const read: Read = async () => {
      throw new Error('secret: /var/lib/tiles');
    };
    const { request, log } = appWithLayers(read);
    const answer = await request('GET', asking({}));
    expect(answer.status).toBe(500);
    expect(reportIn(answer.text).code).toBe('NoApplicableCode');
    expect(answer.text).not.toContain('secret');
    expect(answer.text).toContain(answer.headers['x-request-id']);
    expect(log).toMatchObject([{ level: 'error', details: { requestId: answer.headers['x-request-id'] } }]);
  });
});
