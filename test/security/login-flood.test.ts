import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { basic } from '../fixtures/accounts.ts';
import { startGuardedServer } from './guarded-server.ts';
import { percentile, rawRequest } from './raw-request.ts';

const GUESSES_PER_SECOND = 200;
const SECONDS = 5;
const SOURCES = 100;

it('a flood of wrong logins slows down neither tiles nor an administrator', {
  timeout: 120_000,
}, async () => {
  const server = await startGuardedServer();
  const tile = `${server.url}/tiles/small/0/0/0.png`;
  const ask = (path: string, authorization: string, from?: string) =>
    rawRequest(
      server.url,
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
      from,
    );
  const hits = async (ms: number) => {
    const times: number[] = [];
    for (const until = performance.now() + ms; performance.now() < until; await delay(2)) {
      const began = performance.now();
      await (await fetch(tile)).arrayBuffer();
      times.push(performance.now() - began);
    }
    return times;
  };
  await hits(500);
  const idle = await hits(2000);

  const statuses = new Map<number | null, number>();
  const guesses: Promise<void>[] = [];
  const flood = setInterval(() => {
    for (let i = 0; i < GUESSES_PER_SECOND / 20; i++) {
      const from = `127.0.1.${1 + (guesses.length % SOURCES)}`;
      guesses.push(
        ask('/api/v1/me', basic('admin', `guess ${guesses.length}`), from).then(({ status }) => {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }),
      );
    }
  }, 50);
  await delay(500);
  const began = performance.now();
  const admitted = await ask('/api/v1/me', server.authorization);
  const admittedAfter = performance.now() - began;
  const flooded = await hits(SECONDS * 1000);
  clearInterval(flood);
  await Promise.all(guesses);

  const shown = [...statuses].map(([status, count]) => `${status}×${count}`).join(' ');
  process.stdout.write(
    `${guesses.length} guesses (${shown}): hits p99 ${percentile(flooded, 0.99).toFixed(1)} ms, idle ${percentile(idle, 0.99).toFixed(1)} ms; ` +
      `administrator in after ${admittedAfter.toFixed(0)} ms\n`,
  );
  expect([...statuses.keys()].toSorted()).toEqual([401, 429]);
  expect(admitted.status).toBe(200);
  expect(admittedAfter).toBeLessThan(2000);
  // Few milliseconds are within what one measurement differs from the next by.
  expect(percentile(flooded, 0.99)).toBeLessThan(
    Math.max(1.5 * percentile(idle, 0.99), percentile(idle, 0.99) + 20),
  );
  expect((await server.stop()).code).toBe(0);
});
