import { describe, expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';
import { author } from '../../../test/fixtures/task-fixture.ts';
import type { MassTruncation } from '../../tasks/mass-truncation.ts';
import type { Task } from '../../tasks/task.ts';

interface Call {
  readonly what: string;
  readonly with: readonly unknown[];
}

function openApp() {
  const calls: Call[] = [];
  const note =
    <T>(what: string, answer: T) =>
    async (...parameters: unknown[]): Promise<T> => {
      calls.push({ what, with: parameters });
      return answer;
    };
  const massTruncation: MassTruncation = {
    truncateLayer: note('layer', undefined),
    truncateAll: note('all', []),
    truncateParameters: note('parameters', undefined),
    truncateOrphans: note('orphans', undefined),
    truncateExtent: note('extent', {} as Task),
  };
  const catalog = catalogOf([layerNamed('world'), layerNamed('topp:states')]);
  return { ...createTestApp({ deps: { catalog, massTruncation } }), calls };
}

const XML = { 'content-type': 'text/xml' };
const TRUNCATE_WORLD = '<truncateLayer><layerName>world</layerName></truncateLayer>';
const TYPES = ['truncateLayer', 'truncateParameters', 'truncateOrphans', 'truncateExtent', 'truncateAll'];
const LISTING = TYPES.map((type) => `<requestType>${type}</requestType>`).join('');

describe('GET /masstruncate', () => {
  it.each([
    ['/masstruncate', 'application/xml', {}],
    ['/rest/masstruncate', 'text/xml', { accept: 'text/xml' }],
    ['/geowebcache/rest/masstruncate', 'application/xml', { accept: 'application/xml, text/xml' }],
    ['/geoserver/gwc/masstruncate', 'application/xml', { accept: '*/*' }],
  ])('GET %s lists every mass truncation with its address as %s', async (path, contentType, headers) => {
    const answer = await openApp().request('GET', path, { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe(contentType);
    expect(answer.text).toBe(
      `<massTruncateRequests href="http://localhost${path}">${LISTING}</massTruncateRequests>`,
    );
  });
});

describe('POST /masstruncate', () => {
  it.each(['text/xml', 'application/xml; charset=utf-8', 'application/x-www-form-urlencoded', null])(
    'POST /masstruncate empties the layer named in XML that comes as %s, with an empty answer',
    async (contentType) => {
      const app = openApp();
      const headers: Record<string, string> = contentType === null ? {} : { 'content-type': contentType };
      for (const path of ['/masstruncate', '/rest/masstruncate', '/geowebcache/masstruncate']) {
        const answer = await app.request('POST', path, { headers, body: TRUNCATE_WORLD });
        expect([answer.status, answer.text]).toEqual([200, '']);
      }
      expect(app.calls).toEqual(Array(3).fill({ what: 'layer', with: ['world'] }));
    },
  );

  it('POST /masstruncate reads the same in JSON', async () => {
    const app = openApp();
    const headers = { 'content-type': 'application/json' };
    await app.request('POST', '/masstruncate', {
      headers,
      body: '{"truncateLayer":{"layerName":"topp:states"}}',
    });
    const all = await app.request('POST', '/masstruncate', { headers, body: '{"truncateAll":{}}' });
    expect(all.status).toBe(200);
    expect(app.calls).toEqual([
      { what: 'layer', with: ['topp:states'] },
      { what: 'all', with: [] },
    ]);
  });

  it('POST /masstruncate accepts the other types with their fields', async () => {
    const app = openApp();
    const bodies = [
      '<truncateParameters><layerName>world</layerName><parameters><entry><string>STYLES</string><string>dark</string></entry></parameters></truncateParameters>',
      '<truncateOrphans><layerName>world</layerName></truncateOrphans>',
      '<truncateExtent><layerName>world</layerName><gridSetId>EPSG:4326</gridSetId><bounds><coords><double>-10</double><double>-5</double><double>10</double><double>5</double></coords></bounds></truncateExtent>',
      '<truncateAll/>',
    ];
    for (const body of bodies) {
      expect((await app.request('POST', '/masstruncate', { headers: XML, body })).status).toBe(200);
    }
    const extent = { layer: 'world', gridSetId: 'EPSG:4326', coords: [-10, -5, 10, 5] };
    expect(app.calls).toEqual([
      { what: 'parameters', with: ['world', new Map([['STYLES', 'dark']])] },
      { what: 'orphans', with: ['world'] },
      { what: 'extent', with: [expect.objectContaining(extent), author('local')] },
      { what: 'all', with: [] },
    ]);
  });

  it.each([
    ['<truncateLayer><layerName>nowhere</layerName></truncateLayer>', /^Could not find layer nowhere\n$/],
    ['<truncateLayer/>', /^layerName is missing/],
    [
      '<truncateEverything/>',
      /truncateLayer, truncateParameters, truncateOrphans, truncateExtent, truncateAll/,
    ],
    ['<truncateLayer><layerName>world', /^The body is not XML.*; there are truncateLayer, .*truncateAll/],
    ['', /^The body is not XML.*; there are truncateLayer, .*truncateAll/],
    [
      '<truncateAll><layerName>world</layerName></truncateAll>',
      /^layerName is not a field of truncateAll; there are none/,
    ],
    ['<truncateAll>world</truncateAll>', /^truncateAll must not be the text "world"/],
    [
      '<truncateLayer><layerName>world</layerName><gridSetId>EPSG:4326</gridSetId></truncateLayer>',
      /^gridSetId is not a field of truncateLayer; there are layerName/,
    ],
    ['<!DOCTYPE a><truncateAll/>', /DOCTYPE/],
    [
      '<truncateExtent><layerName>world</layerName><gridSetId>EPSG:4326</gridSetId></truncateExtent>',
      /^bounds is missing/,
    ],
  ])('POST /masstruncate refuses %s and changes nothing', async (body, message) => {
    const app = openApp();
    const answer = await app.request('POST', '/masstruncate', { headers: XML, body });
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'text/plain; charset=utf-8']);
    expect(answer.text).toMatch(message);
    expect(app.calls).toEqual([]);
  });

  it.each([
    '{"truncateAll":false}',
    '{"truncateAll":""}',
    '{"truncateAll":{},"truncateLayer":{"layerName":"world"}}',
  ])('POST /masstruncate refuses %s in JSON', async (body) => {
    const app = openApp();
    const answer = await app.request('POST', '/masstruncate', {
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(400);
    expect(app.calls).toEqual([]);
  });

  it('POST /masstruncate refuses bodies of another kind with 415', async () => {
    const app = openApp();
    for (const type of ['text/plain', 'application/octet-stream', 'text/json']) {
      const answer = await app.request('POST', '/masstruncate', {
        headers: { 'content-type': type },
        body: TRUNCATE_WORLD,
      });
      expect(answer.status).toBe(415);
    }
    expect(app.calls).toEqual([]);
  });
});

it('/masstruncate answers other methods with 405 and lists the allowed ones', async () => {
  const app = openApp();
  for (const path of ['/masstruncate', '/rest/masstruncate']) {
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const answer = await app.request(method, path);
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    }
  }
});

it('POST /masstruncate empties every layer for the form of GeoWebCache’s own page', async () => {
  const { calls, request } = openApp();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = '%3CtruncateAll%3E=%3C%2FtruncateAll%3E';
  const answer = await request('POST', '/rest/masstruncate', { headers, body });
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.text).toContain('<p>Truncated All Layers</p>');
  expect(calls).toEqual([{ what: 'all', with: [] }]);
});
