import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { openScenarioServer, type ScenarioServer } from './scenario-server.ts';

export interface HangingRunReport {
  readonly hits: number;
  readonly hitsServed: number;
  /** Milliseconds, of hits. */
  readonly idleP99: number;
  readonly hangingP99: number;
  /** How many of the misses were answered with which status. */
  readonly misses: Readonly<Record<string, number>>;
  readonly withoutRetryAfter: number;
  readonly slowestMissMs: number;
  /** Megabytes. */
  readonly memoryBefore: number;
  readonly memoryMost: number;
}

const ZOOM = 12;
const CACHED = 20;
const HITS_PER_SECOND = 50;

/** So many misses of an upstream that hangs, and people who look at what is cached. */
export async function runHangingMisses(misses: number, seconds: number): Promise<HangingRunReport> {
  const server = await openScenarioServer({ timeoutSeconds: 5 });
  // Connections of their own, so that those who hang do not hold up those who look.
  const [hanging, looking] = [new Agent({ connections: misses }), new Agent({ connections: 8 })];
  try {
    for (let x = 0; x < CACHED; x++) await server.tile(ZOOM, x, 0);
    await look(server, looking, 1);
    const idle = await look(server, looking, seconds);
    const memoryBefore = server.memory();
    server.wms.answer = 'hang';
    const asked = Array.from({ length: misses }, (_, x) =>
      ask(server, hanging, x % 4096, 10 + Math.floor(x / 4096)),
    );
    let memoryMost = 0;
    const watching = watch(() => {
      memoryMost = Math.max(memoryMost, server.memory());
    });
    const during = await look(server, looking, seconds);
    const answers = await Promise.all(asked);
    watching.abort();
    return {
      hits: during.length,
      hitsServed: during.filter(({ status }) => status === 200).length,
      idleP99: p99(idle.map(({ ms }) => ms)),
      hangingP99: p99(during.map(({ ms }) => ms)),
      misses: countBy(answers.map(({ status }) => String(status))),
      withoutRetryAfter: answers.filter(({ status, retryAfter }) => status !== 200 && !retryAfter).length,
      slowestMissMs: Math.round(Math.max(...answers.map(({ ms }) => ms))),
      memoryBefore,
      memoryMost,
    };
  } finally {
    server.wms.release();
    await Promise.all([hanging.destroy(), looking.destroy()]);
    await server.close();
  }
}

interface Reply {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly ms: number;
}

async function ask(server: ScenarioServer, dispatcher: Agent, x: number, y: number): Promise<Reply> {
  const begun = performance.now();
  const { statusCode, headers, body } = await request(`${server.url}tiles/map/${ZOOM}/${x}/${y}.png`, {
    dispatcher,
  });
  await body.arrayBuffer();
  const retryAfter = headers['retry-after'];
  return {
    status: statusCode,
    retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
    ms: performance.now() - begun,
  };
}

async function look(server: ScenarioServer, dispatcher: Agent, seconds: number): Promise<readonly Reply[]> {
  const replies: Promise<Reply>[] = [];
  const begun = performance.now();
  for (let i = 0; i < seconds * HITS_PER_SECOND; i++) {
    await delay(Math.max(0, begun + (i * 1000) / HITS_PER_SECOND - performance.now()));
    replies.push(ask(server, dispatcher, i % CACHED, 0));
  }
  return Promise.all(replies);
}

function watch(see: () => void): AbortController {
  const stop = new AbortController();
  const timer = setInterval(see, 100);
  stop.signal.addEventListener('abort', () => clearInterval(timer));
  return stop;
}

function p99(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
