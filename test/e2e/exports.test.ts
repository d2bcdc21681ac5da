import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { runTilewarden, startServer, writeConfig } from './server.ts';
import { type OpenServer, openServer } from './server-in-process.ts';
import { openWms } from './task-server.ts';

interface Export {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly tiles: number;
  readonly bytes: number;
}

const TILES = 21;
const ORDER = { layer: 'world', type: 'mbtiles', gridSet: 'EPSG:900913', zoomStop: 2 };
let config: string;
let server: OpenServer;

beforeAll(async () => {
  const wms = await openWms();
  const source = `{ type: wms, url: '${wms.url}', layers: roads }`;
  config = `tasks: { workers: 1 }
upstreams: { '${new URL(wms.url).host}': { allowPrivate: true } }
layers: [{ name: world, source: ${source}, formats: [image/png, image/jpeg], gridSets: [EPSG:900913, EPSG:4326] }]`;
  server = await openServer({ config });
  await seed(ORDER.zoomStop);
});
afterAll(() => server?.stop());

function call(method: string, path: string, body?: object, authorization = server.authorization) {
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
  return fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function json<T>(...given: Parameters<typeof call>): Promise<T> {
  return (await (await call(...given)).json()) as T;
}

async function seed(zoomStop: number): Promise<void> {
  const draft = { layer: 'world', gridSet: 'EPSG:900913', zoomStop };
  const { id } = await json<{ id: number }>('POST', 'tasks', draft);
  await eventually(
    'the seed is done',
    () => json<{ state: string }>('GET', `tasks/${id}`),
    ({ state }) => state === 'done',
  );
}

function ended(id: string): Promise<Export> {
  return eventually(
    'the export is over',
    () => json<Export>('GET', `exports/${id}`),
    ({ state }) => state === 'done' || state === 'failed',
  );
}

function tilesIn(bytes: ArrayBuffer): number {
  const file = join(temporaryFolder(), 'export.mbtiles');
  writeFileSync(file, Buffer.from(bytes));
  const db = new Database(file, { readonly: true });
  const { count } = db.prepare('SELECT count(*) AS count FROM tiles').get() as { count: number };
  db.close();
  return count;
}

it('an export copies cached tiles into a file, shows its progress, and can be downloaded', async () => {
  const answer = await call('POST', 'exports', ORDER);
  expect(answer.status).toBe(201);
  const { id } = (await answer.json()) as Export;
  expect(answer.headers.get('location')).toBe(`${server.url}/api/v1/exports/${id}`);
  const done = await ended(id);
  expect(done).toMatchObject({ state: 'done', tiles: TILES, reason: null });
  const file = await call('GET', `exports/${id}/file`);
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="world.mbtiles"');
  expect(file.headers.get('content-length')).toBe(String(done.bytes));
  expect(tilesIn(await file.arrayBuffer())).toBe(TILES);
  const again = await json<Export>('POST', 'exports', ORDER);
  expect(again.id).toBe(id);
  expect(await ended(id)).toMatchObject({ state: 'done', tiles: TILES });
  expect((await call('DELETE', `exports/${id}`)).status).toBe(204);
  expect((await call('GET', `exports/${id}`)).status).toBe(404);
  expect(readdirSync(join(server.data, 'exports'))).toEqual([]);
});

const TRIANGLE = {
  type: 'Polygon',
  coordinates: [
    [
      [-179, -80],
      [179, -80],
      [-179, 80],
      [-179, -80],
    ],
  ],
};

it('an export of a polygon has the same tiles as a task for this polygon', async () => {
  const { type: _, ...place } = { ...ORDER, area: TRIANGLE };
  const { tilesTotal } = await json<{ tilesTotal: number }>('POST', 'tasks', place);
  const { id } = await json<Export>('POST', 'exports', { ...ORDER, area: TRIANGLE });
  expect(await ended(id)).toMatchObject({
    state: 'done',
    tiles: tilesTotal,
    expected: tilesTotal,
    area: TRIANGLE,
  });
  expect(tilesTotal).toBeLessThan(TILES);
  await call('DELETE', `exports/${id}`);
});

it('the download of an export can be resumed if its file is still the same', async () => {
  const { id } = await json<Export>('POST', 'exports', ORDER);
  const { bytes } = await ended(id);
  const part = async (range: string, more: object = {}) => {
    const headers = { authorization: server.authorization, range, ...more };
    const answer = await fetch(`${server.url}/api/v1/exports/${id}/file`, { headers });
    return { answer, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const file = await call('GET', `exports/${id}/file`);
  const whole = Buffer.from(await file.arrayBuffer());
  const etag = file.headers.get('etag') ?? '';
  const rest = await part('bytes=1000-', { 'if-range': etag });
  expect(rest.answer.status).toBe(206);
  expect(rest.answer.headers.get('content-range')).toBe(`bytes 1000-${bytes - 1}/${bytes}`);
  expect(rest.body.equals(whole.subarray(1000))).toBe(true);
  expect((await part('bytes=10-19')).body.equals(whole.subarray(10, 20))).toBe(true);
  expect((await part('bytes=-7')).body.equals(whole.subarray(-7))).toBe(true);
  for (const ignored of ['bytes=0-1,5-6', 'bytes=9-3', 'lines=1-2', 'bytes=-']) {
    expect((await part(ignored)).answer.status).toBe(200);
  }
  expect((await part('bytes=1000-', { 'if-range': '"another"' })).body.equals(whole)).toBe(true);
  const headers = { authorization: server.authorization, range: 'bytes=10-19' };
  const head = await fetch(`${server.url}/api/v1/exports/${id}/file`, { method: 'HEAD', headers });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes)]);
  const beyond = (await part(`bytes=${bytes}-`)).answer;
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${bytes}`]);
  await call('DELETE', `exports/${id}`);
});

it.each<[what: string, body: object, status: number, message: string]>([
  ['an unknown layer', { ...ORDER, layer: 'mars' }, 404, 'mars'],
  ['an unknown kind of file', { ...ORDER, type: 'zip' }, 400, 'type'],
  ['a path', { ...ORDER, target: '/tmp/x.mbtiles' }, 400, 'target'],
  ['a grid set that such a file cannot hold', { ...ORDER, gridSet: 'EPSG:4326' }, 400, 'GeoPackage'],
  ['bounds outside the layer', { ...ORDER, bounds: [9e7, 9e7, 9.1e7, 9.1e7] }, 400, 'outside'],
  ['an area of another form', { ...ORDER, area: { type: 'Point', coordinates: [0, 0] } }, 400, 'area.type'],
  ['an unknown parameter', { ...ORDER, parameters: { COLOUR: 'red' } }, 400, 'COLOUR'],
])('an export with %s is rejected', async (_what, body, status, message) => {
  const answer = await call('POST', 'exports', body);
  expect(answer.status).toBe(status);
  expect(await answer.text()).toContain(message);
  expect((await json<{ exports: Export[] }>('GET', 'exports')).exports).toEqual([]);
});

it('a failed export shows the reason', async () => {
  const { id } = await json<Export>('POST', 'exports', { ...ORDER, format: 'image/jpeg' });
  expect(await ended(id)).toMatchObject({ state: 'failed', reason: 'No tile of this selection is cached.' });
  expect((await call('GET', `exports/${id}/file`)).status).toBe(409);
  await call('DELETE', `exports/${id}`);
});

it('tilewarden export names the folder that it cannot read or write', async () => {
  const folder = temporaryFolder();
  const refused = async (file: string, data: string) => {
    const settings = ['--data', data, '--config', writeConfig(config)];
    const { code, stderr } = await runTilewarden(['export', 'world', file, ...settings]);
    return [code, stderr];
  };
  const nowhere = join(folder, 'nowhere');
  expect(await refused(join(folder, 'a.mbtiles'), nowhere)).toEqual([
    1,
    `${nowhere} is not the data folder of a server; give it with --data.\n`,
  ]);
  const file = join(nowhere, 'a.gpkg');
  expect(await refused(file, server.data)).toEqual([1, `There is no folder ${nowhere}.\n`]);
  expect(readdirSync(folder)).toEqual([]);
});

it('an export without the configuration of the server names what is missing', async () => {
  const { code, stderr } = await runTilewarden(['export', 'world', 'a.mbtiles', '--data', server.data]);
  expect([code, stderr]).toEqual([
    1,
    'The server of this data folder has another declaration of layer world, and no tiles of this one: ' +
      "give the server's configuration with --config.\n",
  ]);
});

it('an operator can export only the layers of its scope, and a viewer none', async () => {
  const { id } = await json<Export>('POST', 'exports', ORDER);
  const password = 'another password for tests';
  const as = (name: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  await call('POST', 'users', { name: 'vera', password, role: 'viewer', layers: ['*'] });
  await call('POST', 'users', { name: 'otto', password, role: 'operator', layers: ['roads'] });
  expect((await call('GET', 'exports', undefined, as('vera'))).status).toBe(403);
  expect((await call('POST', 'exports', ORDER, as('otto'))).status).toBe(403);
  expect((await json<{ exports: Export[] }>('GET', 'exports', undefined, as('otto'))).exports).toEqual([]);
  expect((await call('GET', `exports/${id}/file`, undefined, as('otto'))).status).toBe(403);
  expect((await call('DELETE', `exports/${id}`, undefined, as('otto'))).status).toBe(403);
  await ended(id);
  await call('DELETE', `exports/${id}`);
});

it('an export is listed as a task, but not listed or killed in the interface of GeoWebCache', async () => {
  const paused = await openServer({ config: 'tasks: { workers: 0 }' });
  const ask = (method: string, path: string, body?: string, type = 'application/json') =>
    fetch(`${paused.url}/${path}`, {
      method,
      headers: { authorization: paused.authorization, ...(body && { 'content-type': type }) },
      ...(body && { body }),
    });
  const { id } = (await (await ask('POST', 'api/v1/exports', JSON.stringify(ORDER))).json()) as Export;
  expect(await (await ask('GET', 'rest/seed.json')).json()).toEqual({ 'long-array-array': [] });
  await ask('POST', 'rest/seed', 'kill_all=all', 'application/x-www-form-urlencoded');
  await ask('POST', 'rest/seed/world', 'kill_all=all', 'application/x-www-form-urlencoded');
  const { tasks } = (await (await ask('GET', 'api/v1/tasks?type=export')).json()) as {
    tasks: { id: number; state: string }[];
  };
  expect(tasks).toMatchObject([{ state: 'pending', layer: 'world', type: 'export' }]);
  await ask('POST', 'rest/seed/world', `kill_thread=1&thread_id=${tasks[0]?.id}`, 'text/xml');
  expect(await (await ask('GET', `api/v1/exports/${id}`)).json()).toMatchObject({ state: 'pending' });
  await ask('POST', `api/v1/tasks/${tasks[0]?.id}/cancel`);
  expect(await (await ask('GET', `api/v1/exports/${id}`)).json()).toMatchObject({
    state: 'failed',
    reason: 'stopped by token:tests',
  });
  expect((await ask('DELETE', `api/v1/exports/${id}`)).status).toBe(204);
  expect(await (await ask('GET', 'api/v1/exports')).json()).toEqual({ exports: [] });
  const refused = await ask('POST', 'api/v1/tasks', JSON.stringify({ layer: 'world', type: 'export' }));
  expect(refused.status).toBe(400);
  await paused.stop();
});

it('an export begun by a killed server is continued after the next start', async () => {
  const first = await startServer({ config: 'tasks: { workers: 0 }' });
  const headers = { authorization: first.authorization, 'content-type': 'application/json' };
  const order = JSON.stringify({ ...ORDER, type: 'gpkg' });
  const answer = await fetch(`${first.url}/api/v1/exports`, { method: 'POST', headers, body: order });
  const { id } = (await answer.json()) as Export;
  await first.kill();
  const db = new Database(join(first.data, 'tilewarden.db'));
  db.prepare("UPDATE tasks SET state = 'running', next_piece = 1").run();
  db.prepare("INSERT INTO task_leases VALUES (1, 'gone/1', 0, 1, 1, 0, 0, 0)").run();
  db.close();
  const left = ['task-7.gpkg.partial', 'task-7-9.gpkg'];
  for (const name of left) writeFileSync(join(first.data, 'exports', name), 'of an export that was deleted');
  const second = await openServer({ data: first.data });
  const seen = await eventually(
    'it has been tried',
    async () => {
      const { authorization } = second;
      const found = await fetch(`${second.url}/api/v1/exports/${id}`, { headers: { authorization } });
      return (await found.json()) as Export;
    },
    ({ state }) => state === 'failed',
  );
  expect(seen.reason).toBe('No tile of this selection is cached.');
  await eventually('nothing is left of others', () => readdirSync(join(first.data, 'exports')).length === 0);
  await second.stop();
});
