import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { started } from '../../scripts/steps.mjs';
import { openScenarioServer, type ScenarioServer } from './scenario-server.ts';

export interface HangingRunReport {
  readonly hits: number;
  readonly hitsServed: number;
  /** Milliseconds, of hits. */
  readonly idleP99: number;
  readonly hangingP99: number;
  /** The number of misses by status. */
  readonly misses: Readonly<Record<string, number>>;
  readonly withoutRetryAfter: number;
  readonly slowestMissMs: number;
  /** Megabytes. */
  readonly memoryBefore: number;
  readonly memoryMost: number;
}

const ZOOM = 12;
const CACHED = 20;

/** Misses of a hanging upstream from one process, and a client in another process that reads cached tiles. */
export async function runHangingMisses(misses: number, seconds: number): Promise<HangingRunReport> {
  const server = await openScenarioServer({ timeoutSeconds: 5 });
  const reader = await openReader(server);
  const crowd = await openClient('crowd.mjs', [`${server.url}tiles/map/${ZOOM}/`]);
  try {
    for (let x = 0; x < CACHED; x++) await server.tile(ZOOM, x, 0);
    await reader.read(1);
    const idle = await reader.read(seconds);
    const memoryBefore = server.memory();
    server.wms.answer = 'hang';
    let memoryMost = 0;
    const watching = setInterval(() => {
      memoryMost = Math.max(memoryMost, server.memory());
    }, 100);
    const reading = reader.read(seconds);
    const answers = await crowd.ask<Reply>(`${CACHED} ${misses}`);
    const during = await reading;
    clearInterval(watching);
    return {
      hits: during.length,
      hitsServed: during.filter(([status]) => status === 200).length,
      idleP99: p99(idle.map(([, ms]) => ms)),
      hangingP99: p99(during.map(([, ms]) => ms)),
      misses: countBy(answers.map(([status]) => String(status))),
      withoutRetryAfter: answers.filter(([status, retryAfter]) => status !== 200 && !retryAfter).length,
      slowestMissMs: Math.round(Math.max(...answers.map(([, , ms]) => ms))),
      memoryBefore,
      memoryMost,
    };
  } finally {
    server.wms.release();
    reader.close();
    crowd.close();
    await server.close();
  }
}

type Hit = readonly [status: number, ms: number];
type Reply = readonly [status: number, retryAfter: string | null, ms: number];

async function openReader({ url }: ScenarioServer) {
  const urls = Array.from({ length: CACHED }, (_, x) => `${url}tiles/map/${ZOOM}/${x}/0.png`);
  const { ask, close } = await openClient('timed-reader.mjs', urls);
  return { read: (seconds: number) => ask<Hit>(String(seconds * 1000)), close };
}

/** A process that writes a line for each line that it reads. */
async function openClient(program: string, options: readonly string[]) {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = await started(
    spawn(process.execPath, [path, ...options], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const lines = createInterface({ input: child.stdout });
  return {
    async ask<Response>(question: string): Promise<readonly Response[]> {
      child.stdin.write(`${question}\n`);
      const [line] = await once(lines, 'line');
      return JSON.parse(line) as readonly Response[];
    },
    close: () => void child.kill(),
  };
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
