import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { LISTENING, testDeps, tileResponse } from '../../../test/fixtures/http-app.ts';
import { createDeferred } from '../../lib/deferred.ts';
import { openHttpServer } from '../http-app.ts';
import type { HttpServer } from '../server.ts';

const TILE = '/tiles/world/0/0/0.png';

let server: HttpServer | null = null;
afterEach(async () => {
  await server?.close();
});

async function open(bytes: Buffer, read = async () => tileResponse({ bytes })): Promise<Socket> {
  server = await openHttpServer({ ...testDeps(), pipeline: { read } }, LISTENING);
  const { port, host } = server.address;
  const socket = connect(port, host);
  await once(socket, 'connect');
  return socket;
}

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
