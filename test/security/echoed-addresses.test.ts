import { expect, it } from 'vitest';
import { startServer } from '../e2e/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { openHttpServer } from '../fixtures/network.ts';
import { whenOver } from '../fixtures/when-over.ts';

const SECRETS = ['0a1b2c3d4e5f6a7b8c9d', 'HUSH-in-query'];

/** Repeats the path of each request in its error, as web servers do. */
async function openEcho() {
  const server = await openHttpServer(({ url = '' }, response) => {
    const path = decodeURIComponent(url);
    const [status, type] = url.includes('/xyz/') ? [404, 'text/html'] : [200, 'text/xml'];
    response.writeHead(Number(status), { 'content-type': String(type) });
    response.end(`<p>The requested URL ${path} was not found on this server, see ${url.slice(1)}</p>`);
  });
  whenOver(server.close);
  return server.url;
}

it('a viewer reads no key of an address in what a map server echoes, in any document', async () => {
  const echo = await openEcho();
  const [segment, value] = SECRETS;
  const wms = { type: 'wms', url: `${echo}/${segment}/wms?map=a&app_code=${value}`, layers: 'a' };
  const xyz = { type: 'xyz', url: `${echo}/xyz/${segment}/{z}/{x}/{y}.png` };
  const gridSets = ['EPSG:900913'];
  const server = await startServer({
    config: JSON.stringify({
      layers: [
        { name: 'wms', source: wms, gridSets },
        { name: 'xyz', source: xyz, gridSets },
      ],
    }),
    expectedLog: /./,
  });
  const call = (path: string, authorization = server.authorization, body?: object) => {
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
    const asked = body && { method: 'POST', body: JSON.stringify(body) };
    return fetch(server.url + path, { headers, ...asked });
  };
  const made = await call('/api/v1/tokens', server.authorization, { name: 'vera', role: 'viewer' });
  const vera = `Bearer ${((await made.json()) as { token: string }).token}`;
  for (const layer of ['wms', 'xyz']) {
    expect((await call(`/tiles/${layer}/0/0/0.png`)).status).toBe(502);
    const task = { type: 'seed', layer, gridSet: 'EPSG:900913', zoomStart: 1, zoomStop: 1 };
    expect((await call('/api/v1/tasks', server.authorization, task)).status).toBe(201);
  }
  await eventually(
    'both tasks have failed',
    async () => (await (await call('/api/v1/tasks', vera)).text()).match(/was not found/g)?.length ?? 0,
    (count) => count >= 2,
  );
  const events = new AbortController();
  const stream = await fetch(`${server.url}/api/v1/events`, {
    headers: { authorization: vera },
    signal: events.signal,
  });
  const first = await stream.body?.getReader().read();
  events.abort();
  const texts = [['events', Buffer.from(first?.value ?? []).toString()]];
  const paths = [
    '/api/v1/layers',
    '/api/v1/tasks',
    '/api/v1/tasks/1',
    '/api/v1/upstreams',
    '/api/v1/changes',
  ];
  for (const layer of ['wms', 'xyz']) {
    paths.push(`/api/v1/layers/${layer}`, `/rest/layers/${layer}.xml`, `/rest/layers/${layer}.json`);
    paths.push(
      `/api/v1/layers/${layer}/tiles/EPSG:900913/0/0/0?format=image/png`,
      `/tiles/${layer}/0/0/0.png`,
    );
  }
  for (const path of [...paths, '/rest/layers.xml', '/metrics']) {
    texts.push([path, await (await call(path, vera)).text()]);
  }
  const leaks = texts.filter(([, text]) => SECRETS.some((secret) => text?.includes(secret)));
  expect(leaks).toEqual([]);
  expect(texts.filter(([, text]) => text?.includes('was not found')).length).toBeGreaterThan(3);
  await server.stop();
});
