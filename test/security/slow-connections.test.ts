import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { allowed } from './figures.ts';
import { startGuardedServer } from './guarded-server.ts';
import { percentile } from './raw-request.ts';

const CONNECTIONS = 4000;
const CUT_WITHIN_MS = 12_000;

/** What slow callers do: nothing, half a header, a header byte by byte, half a body. */
const MANNERS = [
  '',
  'GET /healthz HTT',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ',
  'POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{',
];

interface SlowCaller {
  readonly manner: string;
  readonly socket: Socket;
  readonly began: number;
  ended: number | null;
}

function openSlowly(port: number, number: number): Promise<SlowCaller> {
  const manner = MANNERS[number % MANNERS.length] ?? '';
  return new Promise((resolve, reject) => {
    // From many addresses: one has only so many ports.
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (number % 200)}` });
    const caller: SlowCaller = { manner, socket, began: performance.now(), ended: null };
    socket.once('connect', () => {
      socket.write(manner);
      resolve(caller);
    });
    socket.on('error', (error) => (caller.began ? undefined : reject(error)));
    socket.on('data', () => {});
    socket.on('close', () => {
      caller.ended = performance.now();
    });
  });
}

it('thousands of slow connections hold nobody up, and are cut', { timeout: 120_000 }, async () => {
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
  const times: number[] = [];
  const statuses = new Set<number>();
  const until = performance.now() + allowed(CUT_WITHIN_MS);
  while (performance.now() < until && callers.some(({ ended }) => ended === null)) {
    const began = performance.now();
    const response = await fetch(tile);
    await response.arrayBuffer();
    times.push(performance.now() - began);
    statuses.add(response.status);
    await delay(5);
  }
  clearInterval(dripping);
  const lasted = callers.map(({ began, ended }) =>
    ended === null ? Number.POSITIVE_INFINITY : ended - began,
  );
  process.stdout.write(
    `${CONNECTIONS} slow connections: ${times.length} requests beside them, p99 ${percentile(times, 0.99).toFixed(0)} ms; ` +
      `cut after ${(Math.min(...lasted) / 1000).toFixed(1)} to ${(Math.max(...lasted) / 1000).toFixed(1)} s\n`,
  );
  for (const { socket } of callers) socket.destroy();
  expect([...statuses]).toEqual([200]);
  expect(percentile(times, 0.99)).toBeLessThan(allowed(300));
  expect(Math.max(...lasted)).toBeLessThan(allowed(CUT_WITHIN_MS));
  expect((await server.stop()).code).toBe(0);
});
