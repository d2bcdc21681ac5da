import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { type MockWms, openMockWms } from '../fixtures/mock-wms.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { startServer } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

let folder: string;
let wms: MockWms;
let server: OpenServer;

beforeEach(async () => {
  folder = temporaryFolder();
  wms = await openMockWms();
});

afterEach(async () => {
  await wms.close();
});

async function post(path: string, body: object | string) {
  const isForm = typeof body === 'string';
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
  const answer = await fetch(new URL(path, server.url), {
    method: 'POST',
    headers: { 'content-type': type },
    body: isForm ? body : JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

const configFile = () => join(folder, 'tilewarden.yaml');
const reload = () => post('/rest/reload', 'reload_configuration=1');

it('a private address is rejected with the line that allows it, which works after a reload', async () => {
  server = await openServer({ data: join(folder, 'data'), flags: { 'no-auth': 'true' } });
  const { host } = new URL(wms.url);
  const line = `upstreams: { '${host}': { allowPrivate: true } }`;
  const layer = { name: 'roads', source: { type: 'wms', url: wms.url, layers: 'roads' } };
  const missing = `${host} is a private address. Allow it in ${configFile()} (the file does not exist yet)`;
  for (const [path, body] of [
    ['/api/v1/layers', layer],
    ['/api/v1/import', { url: wms.url }],
  ] as const) {
    const refused = await post(path, body);
    expect(refused.status, path).toBeGreaterThanOrEqual(400);
    expect(refused.text).toContain(missing);
    expect(refused.text).toContain(line);
  }
  await writeFile(configFile(), `${line}\n`);
  const done = await reload();
  expect(done.text).toMatch(/^.*TileLayerConfiguration reloaded\. Read \d+ layers/m);
  expect(done.text).toContain('No layer changed.');
  expect(done.text).toContain(`Upstreams changed: ${host}.`);
  expect(done.text).not.toContain('restart');
  expect((await post('/api/v1/layers', layer)).status).toBe(201);
  expect((await fetch(new URL('/tiles/roads/0/0/0.png', server.url))).status).toBe(200);
});

it('a reload changes the limits of a host in use, and can revoke its permission', async () => {
  server = await openServer({ data: join(folder, 'data'), flags: { 'no-auth': 'true' } });
  const { host } = new URL(wms.url);
  const layer = { name: 'roads', source: { type: 'wms', url: wms.url, layers: 'roads' } };
  const write = (options: string) => writeFile(configFile(), `upstreams: { '${host}': { ${options} } }\n`);
  await write('allowPrivate: true');
  await reload();
  await post('/api/v1/layers', layer);
  expect((await fetch(new URL('/tiles/roads/0/0/0.png', server.url))).status).toBe(200);
  await write('allowPrivate: true, concurrency: 1, ratePerSecond: 50, dailyBudget: 1');
  await reload();
  const shown = await fetch(new URL('/api/v1/upstreams', server.url));
  expect((JSON.parse(await shown.text()) as { upstreams: unknown }).upstreams).toMatchObject([
    { host, requests: 1, limits: { concurrency: 1, ratePerSecond: 50, dailyBudget: 1 } },
  ]);
  expect((await fetch(new URL('/tiles/roads/6/0/0.png', server.url))).status).toBe(200);
  expect((await fetch(new URL('/tiles/roads/6/40/40.png', server.url))).status).toBe(503);
  await write('concurrency: 1');
  await reload();
  expect((await fetch(new URL('/tiles/roads/7/0/0.png', server.url))).status).toBe(502);
});

it('a permission revoked by SIGHUP and given by /rest/reload applies to every process', async () => {
  const { host } = new URL(wms.url);
  const write = (options: string) =>
    writeFile(configFile(), `upstreams: { '${host}': { ${options} } }\ntasks: { workers: 2 }\n`);
  await write('allowPrivate: true');
  const server = await startServer({
    args: ['--config', configFile(), '--processes', '2'],
    expectedLog: /private address|could not|failed|worker|task/,
  });
  const call = async (method: string, path: string, body?: object | string) => {
    const type = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json';
    const answer = await fetch(new URL(path, server.url), {
      method,
      headers: { authorization: server.authorization, 'content-type': type },
      ...(body && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  let column = 0;
  const untilTilesResponse = (status: number) =>
    eventually(
      `tiles to answer ${status}`,
      // Another one each time: a tile that came before the reload stays in the cache.
      () => call('GET', `/tiles/roads/12/${4 * column++}/0.png`).catch(() => ({ status: 0 })),
      (answer) => answer.status === status,
    );
  const seed = async (zoom: number) => {
    const body = { layer: 'roads', type: 'seed', gridSet: 'EPSG:900913', zoomStart: zoom, zoomStop: zoom };
    const { id } = JSON.parse((await call('POST', '/api/v1/tasks', { ...body, threadCount: 4 })).text);
    const { text } = await eventually(
      'the seed to end',
      () => call('GET', `/api/v1/tasks/${id}`),
      (answer) => /"state":"(done|aborted)"/.test(answer.text),
    );
    return JSON.parse(text).outcome;
  };
  const layer = { name: 'roads', source: { type: 'wms', url: wms.url, layers: 'roads' } };
  expect((await call('POST', '/api/v1/layers', layer)).status).toBe(201);
  expect(await seed(2)).toBe('ok');
  await write('');
  process.kill(server.pid, 'SIGHUP');
  // Processes are replaced one after the other: until then a former one may perform the seed.
  await eventually('every process is replaced', () => server.stderr().includes('settings reloaded'));
  await untilTilesResponse(502);
  const before = wms.requests.length;
  expect(await seed(3)).toBe('failed');
  expect(wms.requests).toHaveLength(before);
  await write('allowPrivate: true');
  expect((await call('POST', '/rest/reload', 'reload_configuration=1')).status).toBe(200);
  await untilTilesResponse(200);
  expect(await seed(3)).toBe('ok');
});
