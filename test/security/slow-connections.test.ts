import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { eventually } from '../fixtures/eventually.ts';
import { inLength } from '../fixtures/length.ts';
import { startGuardedServer } from './guarded-server.ts';

const CONNECTIONS = inLength(800, 4000);

/** The kinds of slow callers: nothing, half a header, a header byte by byte, half a body. */
const MANNERS = [
  '',
  'GET /healthz HTT',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ',
  'POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{',
];

interface SlowCaller {
  readonly manner: string;
  readonly socket: Socket;
  isConnected: boolean;
  isCut: boolean;
}

function openSlowly(port: number, number: number): Promise<SlowCaller> {
  const manner = MANNERS[number % MANNERS.length] ?? '';
  return new Promise((resolve, reject) => {
    // From many addresses: one has only so many ports.
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (number % 200)}` });
    const caller: SlowCaller = { manner, socket, isConnected: false, isCut: false };
    socket.once('connect', () => {
      caller.isConnected = true;
      socket.write(manner);
      resolve(caller);
    });
    socket.on('error', (error) => (caller.isConnected ? undefined : reject(error)));
    socket.on('data', () => {});
    socket.on('close', () => {
      caller.isCut = true;
    });
  });
}

it('many slow connections block no other client, and are closed', async () => {
  const server = await startGuardedServer();
  const port = Number(new URL(server.url).port);
  const tile = `${server.url}/tiles/small/0/0/0.png`;
  expect((await fetch(tile)).status).toBe(200);
  const callers: SlowCaller[] = [];
  for (let i = 0; i < CONNECTIONS; i += 200) {
    const batch = Array.from({ length: 200 }, (_, j) => openSlowly(port, i + j));
    callers.push(...(await Promise.all(batch)));
  }
  // Bytes that come one by one do not buy more time.
  const dripping = setInterval(() => {
    for (const { manner, socket } of callers) {
      if (manner.endsWith('X-A: ') && socket.writable) socket.write('a');
    }
  }, 1000);
  await eventually(
    'all of them are cut, and tiles are served meanwhile',
    async () => {
      const response = await fetch(tile);
      await response.arrayBuffer();
      expect(response.status).toBe(200);
      return callers.filter(({ isCut }) => !isCut).length;
    },
    (left) => left === 0,
  );
  clearInterval(dripping);
  for (const { socket } of callers) socket.destroy();
  expect((await server.stop()).code).toBe(0);
});
