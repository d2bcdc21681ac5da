import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { LISTENING, type Read, testDeps, tileResponse } from '../../../test/fixtures/http-app.ts';
import { createDeferred } from '../../lib/deferred.ts';
import { openHttpServer } from '../http-app.ts';
import type { HttpServer, HttpServerOptions } from '../server.ts';

const TILE = '/tiles/world/0/0/0.png';

let server: HttpServer | null = null;
afterEach(async () => {
  await server?.close();
});

async function open(
  bytes: Buffer,
  read: Read = async () => tileResponse({ bytes }),
  limits: HttpServerOptions['limits'] = {},
): Promise<Socket> {
  server = await openHttpServer({ ...testDeps(), pipeline: { read } }, { ...LISTENING, limits });
  return connected();
}

async function connected(): Promise<Socket> {
  const { port = 0, host = '' } = server?.address ?? {};
  const socket = connect(port, host);
  await once(socket, 'connect');
  return socket;
}

/** The next answer on a connection, which has come in one piece. */
async function next(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString('latin1');
}

/** `node:http` names the connection in every answer. */
const BY_NODE = /\r\nConnection: /;

/** What comes back until the connection ends. */
async function rest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).resume();
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

function get(path: string, more = '', version = '1.1', method = 'GET'): string {
  return `${method} ${path} HTTP/${version}\r\nHost: localhost\r\n${more}\r\n`;
}

const LAST = 'Connection: close\r\n';

/** Without what is about the connection. */
function headersOf(answer: string): readonly string[] {
  const [, ...lines] = (answer.split('\r\n\r\n')[0] ?? '').split('\r\n');
  return lines
    .map((line) => line.toLowerCase())
    .filter((line) => !/^(date|expires|connection|keep-alive):/.test(line))
    .toSorted();
}

describe('a tile that is there', () => {
  it('a cached tile has the same headers whether its connection stays open or not', async () => {
    const socket = await open(Buffer.from('a tile'));
    socket.write(get(TILE) + get(TILE, LAST));
    const [kept = '', closed = ''] = (await rest(socket)).split(/(?<=a tile)(?=HTTP)/);
    expect(headersOf(kept)).toEqual(headersOf(closed));
    expect(kept).toMatch(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/);
    expect(closed).toContain('\r\nConnection: close\r\n');
  });

  it.each([
    ['HEAD', get(TILE, LAST, '1.1', 'HEAD')],
    ['HTTP/1.0', get(TILE, '', '1.0')],
  ])('a cached tile is answered to %s, and the connection ends', async (_, text) => {
    const socket = await open(Buffer.from('a tile'));
    socket.write(text);
    const answer = await rest(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('\r\nContent-Length: 6\r\n');
  });

  it('a cached tile waits for earlier requests on the same connection', async () => {
    const answers = [Buffer.from('first'), Buffer.from('second')];
    const held = createDeferred<void>();
    let asked = 0;
    const socket = await open(answers[0] as Buffer, async () => {
      const mine = asked++;
      if (mine === 0) await held.promise;
      return tileResponse({ bytes: answers[mine] as Buffer });
    });
    socket.write(get(TILE) + get(`${TILE}?2`) + get('/healthz', LAST));
    await eventually('both are asked for', () => asked === 2);
    held.resolve();
    const text = await rest(socket);
    expect([...text.matchAll(/^(?:first|second|alive)/gm)].map(([word]) => word)).toEqual([
      'first',
      'second',
      'alive',
    ]);
  });

  it('a cached tile is sent whole for each of many requests before the client reads any', async () => {
    const bytes = Buffer.alloc(20_000, 'x');
    const socket = await open(bytes);
    const times = 500;
    socket.pause();
    for (let i = 1; i < times; i++) socket.write(get(TILE));
    socket.write(get(TILE, LAST));
    const text = await rest(socket);
    expect(text.match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(times);
    expect(text.replaceAll(/[^x]/g, '').length).toBeGreaterThanOrEqual(times * bytes.length);
    expect(text.match(/x{20000}(?!x)/g)).toHaveLength(times);
  });

  it('a cached tile that fits into the send buffer only without its head arrives complete', async () => {
    const bytes = Buffer.alloc(32 * 1024 - 100, 'x');
    const socket = await open(bytes);
    socket.write(get(TILE) + get(TILE, LAST));
    const text = await rest(socket);
    expect(text.match(new RegExp(`\\r\\nContent-Length: ${bytes.length}\\r\\n`, 'gi'))).toHaveLength(2);
    expect(text.match(/x{1000,}/g)?.map((run) => run.length)).toEqual([bytes.length, bytes.length]);
  });

  it('the server goes on when the caller of a cached tile has gone', async () => {
    const held = createDeferred<void>();
    let asked = 0;
    const socket = await open(Buffer.from('a tile'), async () => {
      asked++;
      await held.promise;
      return tileResponse();
    });
    socket.write(get(TILE));
    await eventually('it is asked for', () => asked === 1);
    socket.destroy();
    held.resolve();
    const url = server?.address.url ?? '';
    expect((await fetch(`${url}healthz`)).status).toBe(200);
  });
});

describe('a connection', () => {
  const FILE = Buffer.from('a tile');

  it('tiles are answered without node:http, and everything else on the connection with it', async () => {
    const socket = await open(FILE);
    const answers: string[] = [];
    for (const path of [TILE, `${TILE}?2`, '/healthz', TILE]) {
      socket.write(get(path));
      answers.push(await next(socket));
    }
    expect(answers.map((text) => [text.slice(9, 12), BY_NODE.test(text)])).toEqual([
      ['200', false],
      ['200', false],
      ['200', true],
      ['200', true],
    ]);
    socket.destroy();
  });

  it('headers that change between two requests count for the second', async () => {
    const socket = await open(FILE);
    const answers: string[] = [];
    for (const header of ['', 'If-None-Match: *\r\n', '', 'Host: other\r\n']) {
      socket.write(get(TILE, header));
      answers.push((await next(socket)).slice(9, 12));
    }
    expect(answers).toEqual(['200', '304', '200', '400']);
    socket.destroy();
  });

  it('a head that comes in two pieces is answered', async () => {
    const socket = await open(FILE);
    socket.write(get(TILE));
    await next(socket);
    socket.write(get(TILE).slice(0, 30));
    // A request on another connection: the server has read the first piece.
    expect((await fetch(`${server?.address.url}healthz`)).status).toBe(200);
    socket.write(get(TILE).slice(30));
    expect(await next(socket)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  it('a connection without a request is cut as one with half a request', async () => {
    const socket = await open(FILE, undefined, { headersTimeout: 50, connectionsCheckingInterval: 50 });
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('a connection that had a tile is closed after the idle time', async () => {
    const socket = await open(FILE, undefined, { idleTimeout: 50 });
    socket.write(get(TILE));
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('a client that has closed its side gets its tile, unless that takes too long', async () => {
    const held = createDeferred<void>();
    const aborted = createDeferred<void>();
    const read: Read = async (_tiles, { z }, signal) => {
      signal?.addEventListener('abort', () => aborted.resolve());
      if (z > 0) await held.promise;
      return tileResponse({ bytes: FILE });
    };
    const socket = await open(FILE, read, { halfClosedTimeout: 50 });
    socket.end(get(TILE));
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*a tile$/s);
    const waiting = await connected();
    waiting.end(get('/tiles/world/1/0/0.png'));
    expect(await rest(waiting)).toBe('');
    await aborted.promise;
    held.resolve();
  });

  it('a request that comes before the answer to a miss is answered after it', async () => {
    const held = createDeferred<void>();
    const read: Read = async (_tiles, { z }) => {
      if (z > 0) await held.promise;
      return tileResponse({ bytes: Buffer.from(`zoom ${z}`) });
    };
    const socket = await open(FILE, read);
    socket.write(get('/tiles/world/1/0/0.png'));
    expect((await fetch(`${server?.address.url}healthz`)).status).toBe(200);
    socket.write(get(TILE) + get('/healthz', LAST));
    expect((await fetch(`${server?.address.url}healthz`)).status).toBe(200);
    held.resolve();
    const text = await rest(socket);
    expect([...text.matchAll(/zoom \d|^alive/gm)].map(([word]) => word)).toEqual([
      'zoom 1',
      'zoom 0',
      'alive',
    ]);
  });

  it('a stop answers what is under way and the next request, and closes idle connections', async () => {
    const held = createDeferred<void>();
    const read: Read = async (_tiles, { z }) => {
      if (z > 0) await held.promise;
      return tileResponse({ bytes: FILE });
    };
    const idle = await open(FILE, read, { keepAliveDrain: 100 });
    const [asking, waiting] = [await connected(), await connected()];
    for (const socket of [idle, asking]) {
      socket.write(get(TILE));
      await next(socket);
    }
    waiting.write(get('/tiles/world/1/0/0.png'));
    expect((await fetch(`${server?.address.url}healthz`)).status).toBe(200);
    const closed = server?.close();
    asking.write(get(TILE));
    expect(await rest(asking)).toMatch(/\r\nConnection: close\r\n/);
    held.resolve();
    expect(await rest(waiting)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await rest(idle)).toBe('');
    await closed;
  });
});
