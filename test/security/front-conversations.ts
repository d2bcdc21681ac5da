/**
 * A process: `front-conversations.ts SEED REQUESTS EARLY_OF MINUTES`. Sends the same bytes to a server with and one without the front,
 * and reports figures and differences. Of EARLY_OF conversations one is held again, with bytes that come early.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HeldKey } from '../../src/access/reader-key.ts';
import { TilewardenError } from '../../src/domain/errors.ts';
import { createHttpApp, type HttpServerDeps } from '../../src/http/http-app.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { CachedTile } from '../../src/pipeline/tile-pipeline.ts';
import {
  catalogOf,
  LISTENING,
  layerNamed,
  listen,
  noAccounts,
  type Read,
  testDeps,
  tileResponse,
} from '../fixtures/http-app.ts';
import { createChance } from './mutated-requests.ts';
import { randomMessages, randomPackets } from './smuggling.ts';

export interface Findings {
  readonly figures: Readonly<
    Record<
      'requests' | 'conversations' | 'heldEarly' | 'answers' | 'byFront' | 'handedOver' | 'broken',
      number
    >
  >;
  readonly differences: readonly object[];
}

const AT_ONCE = 32;
/** More than any answer here takes from the last byte of its request. */
const QUIET_TURNS = 8;
const TURNS_OF_A_MISS = 3;
const MAX_TURNS = 1_000_000;
const MAX_DIFFERENCES = 3;
const NOW = Date.UTC(2026, 5, 1);
const LARGE = Buffer.alloc(40_000, 'x');

/** By zoom: in memory, made later, failed, large. */
const read: Read = (_tiles, { z }) => {
  if (z === 5) return madeLater();
  if (z === 6) return Promise.reject(new TilewardenError('source-unavailable', 'The source is away.'));
  return z === 7 ? tileResponse({ bytes: LARGE }) : tileResponse();
};

async function madeLater(): Promise<CachedTile> {
  for (let turn = 0; turn < TURNS_OF_A_MISS; turn++) await nextTurn();
  return tileResponse({ outcome: 'MISS' });
}

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

/**
 * All that comes back, and whether the connection broke. Each part is sent, and the connection ended, when the answers to
 * the parts before have come: what `node:http` does with a request whose client closes its side, or sends CONNECT, before
 * the answer depends on the moment. The part `early` is sent as soon as the one before it is read.
 */
async function converse({ url, accepted }: Served, parts: readonly Buffer[], early = 0) {
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
  for (const [i, part] of parts.entries()) {
    socket.write(part);
    await quiet(socket, () => accepted.get(port), i + 1 === early ? 0 : QUIET_TURNS);
  }
  socket.end();
  await closed;
  accepted.delete(port);
  return { text: Buffer.concat(chunks).toString('latin1'), broken };
}

/** Until the server has read all, and for some turns has written nothing that has not come; or has closed its side. */
async function quiet(socket: Socket, peer: () => Socket | undefined, turns: number): Promise<void> {
  let still = 0;
  let received = socket.bytesRead;
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const { bytesRead, bytesWritten } = peer() ?? {};
    if (socket.readableEnded || socket.destroyed) return;
    if (turns === 0 && bytesRead === socket.bytesWritten) return;
    const isStill = bytesRead === socket.bytesWritten && bytesWritten === received;
    still = isStill ? still + 1 : 0;
    if (still > turns) return;
    await nextTurn();
    received = socket.bytesRead;
  }
  throw new Error('The server neither reads nor closes a connection.');
}

const HEAD = /HTTP\/1\.1 \d{3} [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/g;
const UNEQUAL = /^(?:date: .*|x-request-id: .*|connection: keep-alive)$/i;
interface Conversation {
  readonly text: string;
  readonly broken: boolean;
}

/** Without what differs between two servers, and between two answers of one. */
function comparable({ text }: Conversation): string {
  return text.replaceAll(HEAD, (head) => {
    const [status, ...lines] = head.split('\r\n');
    return [status, ...lines.filter((line) => !UNEQUAL.test(line)).toSorted()].join('\n');
  });
}

/** A connection that breaks may lose the end of what was sent on it. */
function isSame(a: Conversation, b: Conversation): boolean {
  const [one, other] = [comparable(a), comparable(b)];
  return one === other || ((a.broken || b.broken) && (one.startsWith(other) || other.startsWith(one)));
}

/** `node:http` names the connection in every answer. */
function isByFront(head: string): boolean {
  return !head.startsWith('HTTP/1.1 100 ') && !head.includes('\r\nConnection: ');
}

async function compare(seed: number, requests: number, earlyOf: number, minutes: number): Promise<Findings> {
  const [front, node] = [await open({}), await open({ front: false })];
  const chance = createChance(seed);
  const end = performance.now() + minutes * 60_000;
  const isOver = () => figures.requests >= requests || performance.now() > end;
  const figures = {
    requests: 0,
    conversations: 0,
    heldEarly: 0,
    answers: 0,
    byFront: 0,
    handedOver: 0,
    broken: 0,
  };
  const differences: object[] = [];
  const worker = async () => {
    while (!isOver() && differences.length < MAX_DIFFERENCES) {
      const messages = randomMessages(chance);
      const conversation = ++figures.conversations;
      figures.requests += messages.length;
      const cut = randomPackets(messages, chance);
      const parts = chance.next() < 0.9 ? cut : [Buffer.concat(cut)];
      const [a, b] = await Promise.all([converse(front, parts), converse(node, parts)]);
      const heads = a.text.match(HEAD) ?? [];
      const byFront = heads.filter(isByFront).length;
      // Each of them was a part. What follows the last one comes before its answer.
      const early = conversation % earlyOf === 0 ? Math.min(byFront, parts.length - 1) : 0;
      const c = early > 0 ? await converse(front, parts, early) : a;
      if (!isSame(a, b) || !isSame(c, b)) {
        const sent = parts.map((part) => part.toString('latin1'));
        differences.push({ parts: sent, front: a, early: c, node: b });
      }
      figures.answers += heads.length;
      figures.byFront += byFront;
      if (early > 0) figures.heldEarly++;
      if (byFront > 0 && byFront < heads.length) figures.handedOver++;
      if (a.broken || b.broken) figures.broken++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { figures, differences };
}

// No timer of a server ends a connection: what comes back follows from the bytes and their order alone.
mock.timers.enable({ apis: ['setTimeout'] });
const [seed = 1, requests = 1, earlyOf = 1, minutes = 1] = process.argv.slice(2).map(Number);
process.send?.(await compare(seed, requests, earlyOf, minutes), () => process.exit());
