import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { allowed } from './figures.ts';
import { startGuardedServer } from './guarded-server.ts';
import { createChance, createMutator } from './mutated-requests.ts';
import { percentile } from './raw-request.ts';

/** The long form: npm run test:mutations */
const REQUESTS = Number(process.env.MUTATED_REQUESTS ?? 5000);
const SEED = Number(process.env.MUTATION_SEED ?? Date.now() % 2 ** 31);
const AT_ONCE = 16;
/** What is cut short never gets an answer; its sender gives up. */
const GIVE_UP_MS = 150;

/** RFC 9110, 15.2: an answer before the answer. */
const GO_ON = /^(HTTP\/1\.1 100 Continue\r\n\r\n)+/;

interface Outcome {
  readonly status: number | null;
  /** Null without an answer. */
  readonly ms: number | null;
  /** The beginning of the answer. */
  readonly text: string;
}

function send(url: URL, bytes: Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    const began = performance.now();
    const socket = connect(Number(url.port), url.hostname);
    const end = (status: number | null, ms: number | null, text = '') => {
      socket.destroy();
      resolve({ status, ms, text });
    };
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1').replace(GO_ON, '');
      if (text === '') return;
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      end(status === undefined ? null : Number(status), performance.now() - began, text);
    });
    socket.once('error', () => end(null, null));
    socket.once('close', () => end(null, null));
    socket.once('connect', () => {
      socket.write(bytes, () => {
        // A half-closed connection tells the server that nothing more will come.
        setTimeout(() => socket.end(), GIVE_UP_MS);
      });
    });
  });
}

/** OGC 07-057r7, 8.3: an operation that a service does not have. And what says itself when to come back. */
function isDeclared({ status, text }: Outcome, request: string): boolean {
  if (status === 501) return text.includes('OperationNotSupported') || request.startsWith('HEAD ');
  return status === 503 && /^retry-after: /im.test(text);
}

it('no mutated request ends the server, fails in it unforeseen, or holds it up', {
  timeout: 3_600_000,
}, async () => {
  const server = await startGuardedServer();
  const url = new URL(server.url);
  const next = createMutator(createChance(SEED), server.authorization);
  const statuses = new Map<string, number>();
  const times: number[] = [];
  const wrong: string[] = [];
  let slowest = { ms: 0, line: '' };
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) {
      const bytes = next();
      const outcome = await send(url, bytes);
      const { status, ms } = outcome;
      statuses.set(String(status), (statuses.get(String(status)) ?? 0) + 1);
      if (ms !== null) times.push(ms);
      const request = bytes.toString('latin1');
      if (ms !== null && ms > slowest.ms) slowest = { ms, line: request.split('\r\n', 1)[0] ?? '' };
      if (status !== null && status >= 500 && !isDeclared(outcome, request)) {
        wrong.push(`${status}: ${request.slice(0, 500)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const shown = [...statuses].toSorted().map(([status, count]) => `${status}×${count}`);
  process.stdout.write(
    `${REQUESTS} mutated requests, seed ${SEED}: ${shown.join(' ')}; p99 ${percentile(times, 0.99).toFixed(0)} ms, ` +
      `${times.filter((ms) => ms > 1000).length} over 1 s, slowest ${slowest.ms.toFixed(0)} ms (${JSON.stringify(slowest.line.slice(0, 200))})\n`,
  );
  expect(wrong).toEqual([]);
  expect(percentile(times, 0.99)).toBeLessThan(allowed(1000));
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect((await server.stop()).code).toBe(0);
});
