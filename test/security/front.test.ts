import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HeldKey } from '../../src/access/reader-key.ts';
import { TilewardenError } from '../../src/domain/errors.ts';
import { createHttpApp, type HttpServerDeps } from '../../src/http/http-app.ts';
import { systemClock } from '../../src/lib/clock.ts';
import {
  catalogOf,
  LISTENING,
  layerNamed,
  noAccounts,
  type Read,
  testDeps,
  tileResponse,
} from '../fixtures/http-app.ts';
import { listen } from '../fixtures/inject.ts';
import { inLength, randomSeed } from '../fixtures/length.ts';
import { createChance } from './mutated-requests.ts';
import { randomConversation } from './smuggling.ts';

const CONVERSATIONS = inLength(10_000, 1_000_000);
const AT_ONCE = 32;
/** Of the wait for a part to arrive; on a busy machine milliseconds pass. */
const MAX_TURNS = 1000;
const MAX_DIFFERENCES = 3;
const SEED = randomSeed();
const NOW = Date.UTC(2026, 5, 1);
const LARGE = Buffer.alloc(40_000, 'x');

/** By zoom: in memory, made later, failed, large. */
const read: Read = (_tiles, { z }) => {
  if (z === 5) return nextTurn(tileResponse({ outcome: 'MISS' }));
  if (z === 6) return Promise.reject(new TilewardenError('source-unavailable', 'The source is away.'));
  return z === 7 ? tileResponse({ bytes: LARGE }) : tileResponse();
};

const key = { id: 1, hash: '', layers: ['*'], origins: null } as unknown as HeldKey;
const readerKeys = {
  ring: { find: (secret: string) => (secret === 'right' ? key : null), isValid: () => true },
  meter: { admit: () => null },
  wrongKey: () => {},
};

async function open(options: { readonly front?: false }) {
  const deps: HttpServerDeps = {
    ...testDeps(),
    catalog: catalogOf([layerNamed('world'), layerNamed('closed', { access: 'authenticated' })]),
    access: { loopbackOnly: false, authenticate: async () => null, stillHolds: async () => false },
    accounts: { ...noAccounts, readerKeys } as unknown as HttpServerDeps['accounts'],
    clock: { ...systemClock, now: () => NOW },
    pipeline: { read },
  };
  const app = createHttpApp(deps, { ...LISTENING, ...options });
  const accepted = new Map<number, Socket>();
  app.server.on('connection', (socket: Socket) => accepted.set(socket.remotePort ?? 0, socket));
  return { ...(await listen(app)), accepted };
}

type Served = Awaited<ReturnType<typeof open>>;

let front: Served;
let node: Served;
beforeAll(async () => {
  [front, node] = [await open({}), await open({ front: false })];
});
afterAll(async () => {
  await front.close();
  await node.close();
});

/** All that comes back, and whether the connection broke. `apart`: each part is read before the next is sent. */
async function converse({ url, accepted }: Served, parts: readonly Buffer[], apart: boolean) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const chunks: Buffer[] = [];
  let broken = false;
  socket.setNoDelay(true);
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {
    broken = true;
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  const port = socket.localPort ?? 0;
  for (const part of parts) {
    socket.write(part);
    if (apart) await haveArrived(socket.bytesWritten, () => accepted.get(port));
  }
  socket.end();
  await closed;
  accepted.delete(port);
  return { text: Buffer.concat(chunks).toString('latin1'), broken };
}

async function haveArrived(bytes: number, peer: () => Socket | undefined): Promise<void> {
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const { bytesRead = 0, destroyed = false } = peer() ?? {};
    if (bytesRead >= bytes || destroyed) return;
    await (turn < 3 ? nextTurn() : delay(1));
  }
}

const HEAD = /HTTP\/1\.1 \d{3} [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/g;
const UNEQUAL = /^(?:date: .*|x-request-id: .*|connection: keep-alive)$/i;
/** `node:http` writes it into the middle of an answer that waits for an earlier one. */
const GO_ON = 'HTTP/1.1 100 Continue\r\n\r\n';
/** The last words to bytes that are no request. They are lost when the client closes its side while an answer is under way. */
const LAST_WORDS =
  /HTTP\/1\.1 400 Bad Request\n[\s\S]*\nConnection: close\n[\s\S]*This is not a valid HTTP request\.\n$/;

interface Conversation {
  readonly text: string;
  readonly broken: boolean;
}

/** Without what differs between two servers, and between two answers of one. */
function comparable({ text }: Conversation): string {
  return text.replaceAll(GO_ON, '').replaceAll(HEAD, (head) => {
    const [status, ...lines] = head.split('\r\n');
    return [status, ...lines.filter((line) => !UNEQUAL.test(line)).toSorted()].join('\n');
  });
}

/** A connection that breaks may lose the end of what was sent on it. */
function isSame(a: Conversation, b: Conversation): boolean {
  const [one, other] = [comparable(a), comparable(b)];
  if (one === other || withoutLastWords(one) === withoutLastWords(other)) return true;
  return (a.broken || b.broken) && (one.startsWith(other) || other.startsWith(one));
}

function withoutLastWords(text: string): string {
  const at = text.lastIndexOf('HTTP/1.1 400 ');
  return LAST_WORDS.test(text.slice(at)) ? text.slice(0, at) : text;
}

it(
  'the front and node:http give the same answers to the same bytes',
  async () => {
    const chance = createChance(SEED);
    const figures = { done: 0, answers: 0, byFront: 0, broken: 0 };
    const differences: object[] = [];
    const worker = async () => {
      while (figures.done < CONVERSATIONS && differences.length < MAX_DIFFERENCES) {
        figures.done++;
        const parts = randomConversation(chance);
        const apart = chance.next() < 0.8;
        const [a, b] = await Promise.all([converse(front, parts, apart), converse(node, parts, apart)]);
        if (!isSame(a, b))
          differences.push({ parts: parts.map((part) => part.toString('latin1')), front: a, node: b });
        const heads = a.text.match(HEAD) ?? [];
        figures.answers += heads.length;
        // `node:http` names the connection in every answer.
        figures.byFront += heads.filter((head) => !head.includes('\r\nConnection: ')).length;
        if (a.broken || b.broken) figures.broken++;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(differences, `TEST_SEED=${SEED}`).toEqual([]);
    // Otherwise it has compared node:http with itself, or hardly anything.
    expect(figures.byFront).toBeGreaterThan(figures.answers / 8);
    expect(figures.broken).toBeLessThan(CONVERSATIONS / 5);
  },
  inLength(1_800_000, 14_400_000),
);
