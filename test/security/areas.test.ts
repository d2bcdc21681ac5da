import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../e2e/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';

/** Hosts, accounts, tables and folders of the operator. */
const HIDDEN = /127\.0\.0\.1:9\b|gisuser|HUSH|licences|hidden-folder/;

let server: RunningServer;
let [vera, olga] = ['', ''];

beforeAll(async () => {
  const url = 'postgres://gisuser:HUSH@127.0.0.1:9/gis';
  const postgres = { url, query: 'select geom from licences' };
  const source = { type: 'world' };
  const layer = { source, gridSets: [{ name: 'EPSG:900913', zoomStop: 2 }] };
  server = await startServer({
    config: JSON.stringify({
      areas: [
        { name: 'licence', postgres },
        { name: 'parcels', file: join(temporaryFolder(), 'hidden-folder', 'a.gpkg'), table: 'a' },
        { name: 'corner', bounds: [0, 0, 10, 10] },
        { name: 'garden', bounds: [20, 20, 30, 30] },
      ],
      layers: [
        { name: 'licensed', ...layer, within: 'licence' },
        { name: 'parcelled', ...layer, within: 'parcels' },
        { name: 'timed', ...layer, parameters: [{ name: 'TIME', type: 'time', from: { postgres } }] },
      ],
    }),
    expectedLog: /could not be read|feed is failing/,
  });
  const made = await call('/api/v1/tokens', server.authorization, { name: 'vera', role: 'viewer' });
  vera = `Bearer ${((await made.json()) as { token: string }).token}`;
  const password = 'a sentence of hers';
  const user = { name: 'olga', password, role: 'viewer', layers: ['*'], areas: ['corner'] };
  expect((await call('/api/v1/users', server.authorization, user)).status).toBe(201);
  olga = `Basic ${Buffer.from(`olga:${password}`).toString('base64')}`;
  await eventually(
    'all have failed',
    async () => (await areasFor(server.authorization)).filter(({ error }) => error !== null).length,
    (count) => count === 2,
  );
});
afterAll(() => server?.stop());

function call(path: string, authorization: string | null, body?: object) {
  const headers = {
    ...(authorization !== null && { authorization }),
    ...(body && { 'content-type': 'application/json' }),
  };
  return fetch(server.url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
}

async function areasFor(authorization: string) {
  const answer = await call('/api/v1/areas', authorization);
  return ((await answer.json()) as { areas: readonly { name: string; error: string | null }[] }).areas;
}

it('an area that cannot be read shows only operators where it is', async () => {
  for (const name of ['licensed', 'parcelled']) {
    const tile = await call(`/tiles/${name}/0/0/0.png`, null);
    expect([tile.status, await tile.text()]).toEqual([502, expect.stringContaining('could not be read')]);
    expect(await (await call(`/tiles/${name}/0/0/0.png`, null)).text()).not.toMatch(HIDDEN);
  }
  const paths = ['areas', 'layers', 'layers/licensed', 'layers/timed', 'tasks', 'changes', 'upstreams'];
  for (const path of paths) {
    const answer = await call(`/api/v1/${path}`, vera);
    expect([path, answer.status, (HIDDEN.exec(await answer.text()) ?? [])[0]]).toEqual([
      path,
      200,
      undefined,
    ]);
  }
  expect(JSON.stringify(await areasFor(server.authorization))).toMatch(/127\.0\.0\.1:9.*hidden-folder/);
});

it('a viewer that is limited to areas sees no other area', async () => {
  expect((await areasFor(olga)).map(({ name }) => name)).toEqual(['corner']);
  expect((await call('/api/v1/areas/corner', olga)).status).toBe(200);
  expect((await call('/api/v1/areas/garden', olga)).status).toBe(404);
  expect((await areasFor(vera)).map(({ name }) => name)).toContain('garden');
});
