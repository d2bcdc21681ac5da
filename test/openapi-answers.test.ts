import { createHmac } from 'node:crypto';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { beforeAll, expect, it } from 'vitest';
import { openApiDocument } from '../src/http/api/openapi.ts';
import { type OpenServer, openServer } from './e2e/server-in-process.ts';
import { eventually } from './fixtures/eventually.ts';
import { openMockGeoServer } from './fixtures/mock-geoserver.ts';
import { whenOver } from './fixtures/when-over.ts';
import { addressOf, everyRoute } from './security/every-route.ts';

const SECRET = 'for tests only';
const CHANGE = '{"bounds":[8,47,9,48]}';

/** Routes without an example, or without an end. */
const LEFT_OUT = ['/api/v1/events', '/api/v1/users/{name}'];

let server: OpenServer;

async function ask(method: string, path: string, body?: object): Promise<Response> {
  return fetch(new URL(path, server.url), {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
}

/** An example of each resource: an area, a followed server, a tile, a task, a schedule, a change, an entry in the audit log. */
let exported = '';

beforeAll(async () => {
  const changes = [{ name: '1', type: 'webhook', secret: SECRET, layers: ['world'] }];
  const areas = [{ name: '1', bounds: [3, 50, 8, 54] }];
  const geoserver = await openMockGeoServer();
  whenOver(() => geoserver.close());
  geoserver.layers.set('topp:states', { title: 'States', style: 'red', styles: [] });
  const follow = [{ name: '1', type: 'geoserver', url: geoserver.url, every: 86_400 }];
  const parameters = [{ name: 'TIME', type: 'time', values: '2026-01-01,2026-01-02' }];
  const layers = [{ name: 'world', source: { type: 'world' }, parameters }];
  const config = JSON.stringify({ areas, changes, follow, layers });
  server = await openServer({ config, flags: { 'no-auth': 'true' } });
  await eventually('a pass', async () => {
    const { passes } = (await (await ask('GET', '/api/v1/follow/1/passes')).json()) as { passes: unknown[] };
    return passes.length === 1;
  });
  expect((await ask('GET', '/tiles/world/0/0/0.png')).status).toBe(200);
  const seed = { layer: 'world', type: 'seed', gridSet: 'EPSG:900913', format: 'image/png' };
  expect((await ask('POST', '/api/v1/tasks', { ...seed, zoomStart: 0, zoomStop: 1 })).status).toBe(201);
  const schedule = { name: 'nightly', cron: '0 3 * * *', ...seed, zoomStart: 0, zoomStop: 0 };
  expect((await ask('POST', '/api/v1/schedules', schedule)).status).toBe(201);
  await eventually('the task is done', async () => {
    const task = (await (await ask('GET', '/api/v1/tasks/1')).json()) as { state: string };
    return task.state === 'done';
  });
  const signature = createHmac('sha256', SECRET).update(CHANGE).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
  const address = new URL('api/v1/changes/1', server.url);
  expect((await fetch(address, { method: 'POST', headers, body: CHANGE })).status).toBe(202);
  const made = await ask('POST', '/api/v1/exports', { layer: 'world', type: 'mbtiles' });
  exported = ((await made.json()) as { id: string }).id;
});

/** The queries of addresses that need one. */
const QUERIES: Readonly<Record<string, string>> = {
  '/api/v1/gridset-proposals': '?srs=25832',
  '/api/v1/gridset-preview': '?gridSet=EPSG:900913&zoom=2',
  '/api/v1/preview': `?document=${encodeURIComponent('{"name":"seen","source":{"type":"world"}}')}`,
};

const shown = everyRoute().filter(
  (route) =>
    route.method === 'GET' &&
    route.path.startsWith('/api/v1/') &&
    !LEFT_OUT.includes(route.path) &&
    route.describe?.answer !== undefined,
);

it.each(shown.map((route) => [route.path, route] as const))(
  'the response of %s matches its description exactly',
  async (path, route) => {
    const answer = await ask(
      'GET',
      addressOf(path.replace('exports/{id}', `exports/${exported}`), 'world') + (QUERIES[path] ?? ''),
    );
    const body: unknown = await answer.json();
    expect(answer.status).toBe(200);
    expect(route.describe?.answer?.parse(body)).toEqual(body);
  },
);

it('a dry run of a schedule returns its next three runs and stores nothing', async () => {
  const schedule = {
    name: 'office hours',
    layer: 'world',
    cron: '*/2 8-18 * * MON-FRI',
    timeZone: 'Europe/Berlin',
  };
  const preview = await ask('POST', '/api/v1/schedules?dryRun=true', schedule);
  const { nextRuns } = (await preview.json()) as { nextRuns: string[] };
  expect([preview.status, nextRuns.length]).toEqual([200, 3]);
  const { schedules } = (await (await ask('GET', '/api/v1/schedules')).json()) as { schedules: object[] };
  expect(schedules).toHaveLength(1);
  const wrong = await ask('POST', '/api/v1/schedules?dryRun=true', { ...schedule, timeZone: 'Berlin' });
  expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('timeZone')]);
});

it('a dry run of an export counts the tiles that would be exported', async () => {
  const order = { layer: 'world', type: 'mbtiles', zoomStop: 1, dryRun: true };
  const counted = await ask('POST', '/api/v1/exports', order);
  expect([counted.status, await counted.json()]).toEqual([200, { tiles: 5, bytes: expect.any(Number) }]);
});

it('every JSON response of /api/v1 has a description', () => {
  const silent = everyRoute()
    .filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/'))
    .filter(({ describe }) => describe?.answer === undefined && describe?.answerType === undefined);
  expect(silent.map(({ path }) => path)).toEqual([]);
});

it('the OpenAPI description is a valid OpenAPI 3.1 document', async () => {
  const config = await createConfig({
    rules: {
      struct: 'error',
      'no-unresolved-refs': 'error',
      'no-identical-paths': 'error',
      'no-ambiguous-paths': 'off',
      'path-parameters-defined': 'error',
      'operation-parameters-unique': 'error',
      'security-defined': 'error',
      'operation-summary': 'error',
    },
  });
  const source = JSON.stringify(openApiDocument(everyRoute(), 'http://localhost'));
  const problems = await lintFromString({ source, config });
  expect(problems.map(({ message, location }) => `${message} ${location[0]?.pointer}`)).toEqual([]);
});
