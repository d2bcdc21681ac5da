import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../src/http/route.ts';
import type { RunningServer } from '../e2e/server.ts';
import { eventually } from '../fixtures/eventually.ts';
import { isLong } from '../fixtures/length.ts';
import { residentMemory } from '../fixtures/processes.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { addressOf, everyRoute } from './every-route.ts';
import { peakMemory, resetPeakMemory, SMALL_LAYER, startGuardedServer } from './guarded-server.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { rawRequest } from './raw-request.ts';

const SECRET = 'the content of a file that must stay secret';
const TYPES = ['text/xml', 'application/json', 'application/x-www-form-urlencoded'];
/** Bytes. A body that expands takes hundreds of times as much; garbage depends on the machine. */
const MAX_MEMORY = 64 * 2 ** 20;

let server: RunningServer;
let canary: Server;
let canaryHits = 0;
let canaryFile = '';
let opens = '';

beforeAll(async () => {
  const folder = temporaryFolder();
  canaryFile = join(folder, 'canary.txt');
  opens = join(folder, 'opens.txt');
  writeFileSync(canaryFile, SECRET);
  writeFileSync(opens, '');
  canary = createServer((_request, response) => {
    canaryHits += 1;
    response.end('<!ENTITY x "y">');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
  const watcher = new URL('./watched-opens.mjs', import.meta.url).href;
  server = await startGuardedServer({ env: { NODE_OPTIONS: `--import ${watcher}`, WATCHED_OPENS: opens } });
});

afterAll(async () => {
  canary.close();
  const end = await server.stop();
  expect(end.code).toBe(0);
});

function changingRoutes() {
  return everyRoute().filter(({ method, path }) => method !== 'GET' && !path.endsWith('/session'));
}

async function send(method: string, path: string, type: string, body: Buffer) {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: server.authorization, 'content-type': type },
    body,
  });
  const text = await response.text();
  return { status: response.status, text };
}

/** An eighth of the bodies on each path; on all paths taken together each body in each type. */
function someTypes(number: number): readonly string[] {
  return number % 8 === 0 ? [TYPES[number % TYPES.length] ?? ''] : [];
}

async function seedOnce(): Promise<void> {
  const body = Buffer.from(JSON.stringify({ layer: SMALL_LAYER, zoomStart: 0, zoomStop: 0 }));
  const { text } = await send('POST', '/api/v1/tasks', 'application/json', body);
  const { id } = JSON.parse(text) as { id: number };
  const headers = { authorization: server.authorization };
  const isDone = async () => {
    const task = await fetch(`${server.url}/api/v1/tasks/${id}`, { headers });
    return ((await task.json()) as { state: string }).state === 'done';
  };
  await eventually('the workers have done a task', isDone);
}

describe('a hostile body', () => {
  it('a hostile body is rejected on every path without side effects', async () => {
    const { port } = canary.address() as AddressInfo;
    const bodies = hostileBodies(canaryFile, `http://127.0.0.1:${port}`);
    const sendAll = async (routes: readonly Route[]) => {
      const wrong: string[] = [];
      for (const [pathNumber, { method, path }] of routes.entries()) {
        for (const [place, { title, body }] of bodies.entries()) {
          for (const type of isLong ? TYPES : someTypes(place + pathNumber)) {
            const { status, text } = await send(method, addressOf(path, SMALL_LAYER), type, body);
            const fine = status < 500 && !text.includes(SECRET) && !/\bat \S+\.(js|ts):\d/.test(text);
            if (!fine) wrong.push(`${method} ${path} ${type} ${title}: ${status} ${text.slice(0, 200)}`);
          }
        }
      }
      return wrong;
    };
    const routes = changingRoutes();
    // The first request waits for the password to be checked, and the first task for workers that load their code. The
    // thread that truncates does so too: an empty object, with or without a BOM, selects every tile.
    await sendAll(routes.slice(0, 4));
    await seedOnce();
    await send('POST', `/api/v1/layers/${SMALL_LAYER}/truncate`, 'application/json', Buffer.from('{}'));
    writeFileSync(opens, '');
    const wrong = await sendAll(routes);
    // By now the server has its working size: a higher peak is caused by these bodies.
    const before = residentMemory(server.pid);
    resetPeakMemory(server.pid);
    await sendAll(routes.filter((_, i) => i % 4 === 0));
    const grown = peakMemory(server.pid) - before;
    expect(wrong).toEqual([]);
    expect(grown).toBeLessThan(MAX_MEMORY);
    expect(canaryHits).toBe(0);
    const elsewhere = readFileSync(opens, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(`open ${server.data}`));
    expect(elsewhere).toEqual([]);
  });

  it('a body that is too long is rejected without waiting for it', async () => {
    for (const { method, path } of changingRoutes()) {
      const address = addressOf(path, SMALL_LAYER);
      const head = `${method} ${address} HTTP/1.1\r\nHost: x\r\nAuthorization: ${server.authorization}\r\n`;
      const declared = await rawRequest(server.url, `${head}Content-Length: 1000000000\r\n\r\n`);
      expect(declared.status, `${method} ${path}`).toBe(413);
      const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
      const endless = await rawRequest(
        server.url,
        `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(4)}`,
      );
      expect(endless.status, `${method} ${path}`).toBe(413);
      const packed = await rawRequest(
        server.url,
        `${head}Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx`,
      );
      expect(packed.status, `${method} ${path}`).toBe(415);
    }
  });

  it('a body of an anonymous caller is not read', async () => {
    for (const { method, path, role } of changingRoutes()) {
      if (role === 'public') continue;
      const address = addressOf(path, SMALL_LAYER);
      const answer = await rawRequest(
        server.url,
        `${method} ${address} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n`,
      );
      expect(answer.status, `${method} ${path}`).toBe(401);
    }
  });
});

describe('a hostile address or header', () => {
  it.each([
    '/tiles/..%2f..%2f..%2f..%2fetc%2fpasswd/0/0/0.png',
    '/tiles/small/..%2f..%2f..%2fetc/0/0/0.png',
    '/tiles/small/0/0/..%2f..%2f0.png',
    '/..%2f..%2f..%2f..%2fetc%2fpasswd',
    '/../../../../etc/passwd',
    '/assets/../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/index.html%00.png',
    '/tiles/small%00/0/0/0.png',
    '/%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd',
    'file:///etc/passwd',
    'http://169.254.169.254/latest/meta-data/',
  ])('the hostile address %s answers 400 or 404', async (target) => {
    const { status, text } = await rawRequest(server.url, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect([400, 404]).toContain(status);
    expect(text).not.toMatch(/root:|"name":/);
  });

  it.each([
    [
      'two lengths',
      'POST /rest/seed HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST /rest/seed HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'an unknown coding',
      'POST /rest/seed HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    ],
    ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['a folded header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
    ['bare line feeds', 'GET /healthz HTTP/1.1\nHost: x\n\n'],
    ['a negative length', 'POST /rest/seed HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['a space before the colon', 'GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['too many headers', `GET /healthz HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(200)}\r\n`],
    ['a header too long', `GET /healthz HTTP/1.1\r\nHost: x\r\na: ${'b'.repeat(20_000)}\r\n\r\n`],
    ['an address too long', `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['HTTP/0.9', 'GET /healthz\r\n\r\n'],
    ['a tunnel', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['TLS', '\u0016\u0003\u0001\u0000\u0001'],
  ])('a request with %s is rejected or harmless', async (_title, bytes) => {
    const { status } = await rawRequest(server.url, bytes);
    expect([null, 200, 400, 401, 404, 405, 413, 414, 431, 501, 505]).toContain(status);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('an absolute request line needs credentials as any other', async () => {
    const lines = [`GET http://localhost/rest/seed.json`, `GET HTTP://admin@localhost/api/v1/users`];
    for (const line of lines) {
      expect((await rawRequest(server.url, `${line} HTTP/1.1\r\nHost: x\r\n\r\n`)).status, line).toBe(401);
    }
  });

  it('line breaks in an address do not become headers of the response', async () => {
    const answer = await rawRequest(
      server.url,
      `GET /tiles/a%0d%0aX-Evil:%201/0/0/0.png HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    expect(answer.status).toBe(404);
    expect(answer.text).not.toMatch(/^x-evil/im);
  });

  it('responses to anonymous callers contain nothing about the program', async () => {
    for (const path of ['/', '/healthz', '/rest/x', '/nothing', '/tiles/x/0/0/0.png']) {
      const { text } = await rawRequest(server.url, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(text).not.toMatch(/^(server|x-powered-by):/im);
      expect(text).not.toContain(server.data);
    }
  });
});
