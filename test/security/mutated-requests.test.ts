import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { inLength, randomSeed } from '../fixtures/length.ts';
import { openGuardedServer } from './guarded-server.ts';
import { createChance, createMutator } from './mutated-requests.ts';

const REQUESTS = inLength(600, 100_000);
const SEED = randomSeed();
const AT_ONCE = 32;
/** A truncated request never gets a response; its sender times out. */
const GIVE_UP_MS = 150;

/** RFC 9110, 15.2: an interim response. */
const GO_ON = /^(HTTP\/1\.1 100 Continue\r\n\r\n)+/;

interface Outcome {
  readonly status: number | null;
  /** The beginning of the answer. */
  readonly text: string;
}

function send(url: URL, bytes: Buffer): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    const end = (status: number | null, text = '') => {
      socket.destroy();
      resolve({ status, text });
    };
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1').replace(GO_ON, '');
      if (text === '') return;
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      end(status === undefined ? null : Number(status), text);
    });
    socket.once('error', () => end(null));
    socket.once('close', () => end(null));
    socket.once('connect', () => {
      socket.write(bytes, () => {
        // A half-closed connection signals the end of the request.
        setTimeout(() => socket.end(), GIVE_UP_MS);
      });
    });
  });
}

/** OGC 07-057r7, 8.3: an operation that a service does not have. Also a 503 with `Retry-After`. */
function isDeclared({ status, text }: Outcome, request: string): boolean {
  if (status === 501) return text.includes('OperationNotSupported') || request.startsWith('HEAD ');
  return status === 503 && /^retry-after: /im.test(text);
}

it(`no mutated request crashes the server or causes an unexpected error (seed ${SEED})`, async () => {
  const server = await openGuardedServer();
  const url = new URL(server.url);
  const next = createMutator(createChance(SEED), server.authorization);
  const wrong: string[] = [];
  let left = REQUESTS;
  const worker = async () => {
    while (left-- > 0) {
      const bytes = next();
      const outcome = await send(url, bytes);
      const { status } = outcome;
      const request = bytes.toString('latin1');
      if (status !== null && status >= 500 && !isDeclared(outcome, request)) {
        wrong.push(`${status}: ${request.slice(0, 500)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(wrong).toEqual([]);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  await server.stop();
});
