import { expect, it } from 'vitest';
import { LAYER, shareOpenTaskServer } from './task-server.ts';

const shared = shareOpenTaskServer({
  more: () => `  - name: other
    source: { type: world }
    gridSets: [EPSG:900913]
`,
});
const AT = { z: 4, x: 3, y: 2 };
const PATH = `/tiles/${LAYER}/EPSG:900913/4/3/2.png`;

async function tokenFor(layer: string, role = 'operator'): Promise<string> {
  const body = JSON.stringify({ name: `${role}-${layer}`, role, layers: [layer] });
  const made = await shared.server.request('POST', '/api/v1/tokens', body, 'application/json');
  expect(made.status).toBe(201);
  return ((await made.json()) as { token: string }).token;
}

it('a tile refreshed by an operator is served to all callers', async () => {
  const { wms, server } = shared;
  await server.expectTiles([AT], { cache: 'MISS', version: 1 });
  wms.version = 2;
  await server.expectTiles([AT], { cache: 'HIT', version: 1 });
  const refreshed = await server.request('GET', `${PATH}?cached=refresh`);
  expect([refreshed.status, refreshed.headers.get('x-cache')]).toEqual([200, 'MISS']);
  expect(refreshed.headers.get('cache-control')).toBe('no-store');
  await server.expectTiles([AT], { cache: 'HIT', version: 2 });
  wms.version = 3;
  await server.request('GET', `${PATH}?cached=refresh`);
  await server.expectTiles([AT], { cache: 'HIT', version: 3 });
});

it('a tile is not refreshed for anonymous callers, other layers, viewers and pages of other sites', async () => {
  const { wms, server } = shared;
  await server.expectTiles([AT], { version: 1 });
  const { length } = wms.requests;
  const ask = async (headers: Record<string, string>) =>
    (await fetch(`${server.url}${PATH}?cached=refresh`, { headers })).status;
  expect(await ask({})).toBe(401);
  expect(await ask({ authorization: `Bearer ${await tokenFor('other')}` })).toBe(403);
  expect(await ask({ authorization: `Bearer ${await tokenFor(LAYER, 'viewer')}` })).toBe(403);
  expect(await ask({ authorization: server.authorization, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(wms.requests).toHaveLength(length);
  expect(await ask({ authorization: `Bearer ${await tokenFor(LAYER)}` })).toBe(200);
  expect(wms.requests).toHaveLength(length + 1);
});
