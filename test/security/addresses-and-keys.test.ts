import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../e2e/server.ts';
import { pictureLayer } from '../fixtures/configurations.ts';
import { rawRequest } from './raw-request.ts';

let server: RunningServer;
let vera = '';

const KEYED = {
  name: 'keyed',
  source: {
    type: 'wms',
    url: 'http://maps.test/0a1b2c3d4e5f6a7b8c9d/wms?map=a&app_code=HUSH',
    layers: 'a',
    username: 'ada',
    password: 'HUSH',
    vendorParameters: { gkt: 'HUSH' },
  },
};

beforeAll(async () => {
  const layers = await pictureLayer('small', 3);
  server = await startServer({ config: `tasks: { workers: 0 }${layers}`, args: ['--processes', '2'] });
  const made = await call('POST', '/api/v1/tokens', { name: 'vera', role: 'viewer' });
  vera = `Bearer ${((await made.json()) as { token: string }).token}`;
  expect((await call('POST', '/api/v1/layers', KEYED)).status).toBe(201);
});
afterAll(() => server?.stop());

function call(method: string, path: string, body?: object, authorization = server.authorization) {
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) };
  return fetch(server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

it.each([
  '/api/v1/layers/keyed',
  '/rest/layers/keyed.xml',
  '/rest/layers/keyed.json',
  '/api/v1/layers/keyed/tiles/EPSG:900913/0/0/0?format=image/png',
])('a viewer reads no credential of a map server in %s', async (path) => {
  const text = await (await call('GET', path, undefined, vera)).text();
  expect(text).toContain('maps.test');
  expect(text).not.toMatch(/HUSH|0a1b2c3d4e5f6a7b8c9d/);
});

it('an administrator reads the address of a layer without its password', async () => {
  const text = await (await call('GET', '/api/v1/layers/keyed')).text();
  expect(text).toContain('http://maps.test/0a1b2c3d4e5f6a7b8c9d/wms?map=a&app_code=HUSH');
  expect(text).not.toContain('"password":"HUSH"');
});

it('a masked password is not sent to another server than before', async () => {
  const { document } = (await (await call('GET', '/api/v1/layers/keyed')).json()) as {
    document: { source: object };
  };
  const change = (url: string, more: object = {}) =>
    call('PUT', '/api/v1/layers/keyed?dryRun=true', {
      ...document,
      source: { ...document.source, url, ...more },
    });
  const moved = await change('http://elsewhere.test/wms');
  expect(moved.status).toBe(400);
  expect(await moved.text()).toMatch(/another server.*give the password/);
  expect((await change('http://elsewhere.test/wms', { password: 'new' })).status).toBe(200);
  expect((await change('http://maps.test/wms')).status).toBe(200);
});

it.each(['/healthz', '/tiles/small/1/1/1.png', '/api/v1/me'])(
  'a client that half-closes its connection after a request gets its response: %s',
  async (path) => {
    const { hostname, port } = new URL(server.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    await once(socket, 'connect');
    socket.end(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString('latin1')).toMatch(/^HTTP\/1\.1 (200|401) /);
  },
);

it('a request with a thousand headers is rejected before its password is checked', async () => {
  const many = Array.from({ length: 1100 }, (_, n) => `a${n}:`).join('\r\n');
  const wrong = `Basic ${Buffer.from('admin:wrong').toString('base64')}`;
  const head = `GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${wrong}\r\n`;
  expect((await rawRequest(server.url, `${head}${many}\r\n\r\n`)).status).toBe(431);
  expect((await rawRequest(server.url, `${head}\r\n`)).status).toBe(401);
  const failed = async () => {
    const answer = await fetch(`${server.url}/api/v1/audit?actor=admin`, {
      headers: { authorization: server.authorization },
    });
    const { entries } = (await answer.json()) as { entries: readonly { readonly source: string }[] };
    return entries.map(({ source }) => source);
  };
  await expect.poll(failed).toContain('127.0.0.1');
  expect(await failed()).not.toContain('');
});

it('a page of another site can post a form to a map service, but cannot log in', async () => {
  const post = (path: string, body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': type, 'sec-fetch-site': 'cross-site', origin: 'http://evil.test' },
      body,
    });
  expect((await post('/service/wms', 'SERVICE=WMS&REQUEST=GetCapabilities')).status).toBe(200);
  expect((await post('/service/wmts', 'SERVICE=WMTS&REQUEST=GetCapabilities')).status).toBe(200);
  expect((await post('/api/v1/session', '{}', 'application/json')).status).toBe(403);
});
