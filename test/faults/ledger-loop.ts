import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { started } from '../../scripts/steps.mjs';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { loadEvictions } from '../../src/quota/evictions.ts';
import { openSegmentStore } from '../../src/storage/segments/segment-store.ts';
import { type Store, sumOfChanges } from '../../src/storage/store.ts';
import { eventually } from '../fixtures/eventually.ts';
import { FROM_SOURCES } from '../fixtures/processes.ts';

export interface LedgerLoopReport {
  readonly kills: number;
  readonly truncations: number;
  readonly tilesChecked: number;
  /** Pages that quotas removed. */
  readonly evicted: number;
  /** Bytes and tiles by which the usage and a recount differed, over all kills. */
  readonly drift: number;
  /** Tiles that were older than an acknowledged truncation. */
  readonly resurrected: number;
}

const tools = { log: silentLogger, clock: systemClock };
/** Steps of work, and milliseconds after the last of them, after which a process is killed. */
const MAX_STEPS = 40;
const MAX_STEP_MS = 20;
const WORKER = fileURLToPath(new URL('./ledger-process.ts', import.meta.url));

/** Repeatedly kills a process that writes, truncates and evicts, and recounts after each kill. */
export async function runLedgerLoop(folder: string, kills: number): Promise<LedgerLoopReport> {
  const acknowledged = new Map<string, number>();
  const total = { truncations: 0, evicted: 0, tilesChecked: 0, drift: 0, resurrected: 0 };
  let next = await startWorker(folder, false);
  for (let kill = 1; kill <= kills; kill++) {
    const worker = next;
    if (kill < kills) next = await startWorker(folder, kill % 2 === 1);
    total.truncations += await workUntilKilled(worker, acknowledged);
    const found = await lookAt(folder, acknowledged);
    total.evicted = found.evicted;
    total.tilesChecked += found.tiles;
    total.drift += found.drift;
    total.resurrected += found.resurrected;
  }
  return { kills, ...total };
}

type Truncation = { readonly layer: string; readonly generation: number };
type Said = 'ready' | 'working' | 'stepped' | 'evicted' | Truncation;

interface Worker {
  readonly child: ChildProcess;
  /** It is killed some steps after quotas have removed something. */
  readonly evicts: boolean;
  /** Resolves when it waits for the message to begin. */
  readonly ready: Promise<unknown>;
}

async function startWorker(folder: string, evicts: boolean): Promise<Worker> {
  const child = await started(
    fork(WORKER, [folder, ...(evicts ? ['evicts'] : [])], { execArgv: FROM_SOURCES }),
  );
  return { child, evicts, ready: messageFrom(child, 'ready') };
}

async function messageFrom(child: ChildProcess, word: Said): Promise<void> {
  const [said] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (said !== word) throw new Error(`the process said ${JSON.stringify(said)} instead of ${word}`);
}

async function killed({ child }: Worker): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** A random number of steps; with `evicts`, these come after the first eviction. */
async function workUntilKilled(worker: Worker, acknowledged: Map<string, number>) {
  const { child, evicts } = worker;
  const done = { truncations: 0, steps: 0, evictedAt: evicts ? Number.POSITIVE_INFINITY : 0 };
  await worker.ready;
  const working = messageFrom(child, 'working');
  child.send('begin');
  await working;
  child.on('message', (said: Said) => {
    if (said === 'stepped') done.steps++;
    if (said === 'evicted') done.evictedAt = Math.min(done.evictedAt, done.steps);
    if (typeof said === 'string') return;
    acknowledged.set(said.layer, said.generation);
    done.truncations++;
  });
  const steps = Math.random() * MAX_STEPS;
  await eventually(
    'the process has done enough to be killed',
    () => done,
    () => done.steps >= done.evictedAt + steps,
  );
  await systemClock.sleep(Math.random() * MAX_STEP_MS);
  await killed(worker);
  return done.truncations;
}

async function lookAt(folder: string, acknowledged: ReadonlyMap<string, number>) {
  const options = { maxOpenSegments: 16, sweepBytesPerSecond: 2 ** 29 };
  const store = await openSegmentStore(options, { root: join(folder, 'store'), ...tools });
  const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...tools });
  try {
    const counted = await recount(store, acknowledged);
    const evicted = (await loadEvictions(database)).total.pages;
    return { ...counted, evicted };
  } finally {
    await store.close();
    await database.close();
  }
}

/** Tile by tile, beside the sums of levels and of pages. */
async function recount(store: Store, acknowledged: ReadonlyMap<string, number>) {
  const sum = { tiles: 0, bytes: 0, resurrected: 0 };
  const { levels } = await store.usage();
  for (const { set, z } of levels) {
    for await (const tiles of store.list(set, z)) {
      for (const { bytes, createdAt } of tiles) {
        sum.tiles++;
        sum.bytes += bytes;
        if (createdAt < (acknowledged.get(set.layer) ?? 0)) sum.resurrected++;
      }
    }
  }
  const pages = [];
  for await (const some of store.usage({})) pages.push(...some);
  const drift = [sumOfChanges(levels), sumOfChanges(pages)].map(
    ({ tiles, bytes }) => Math.abs(tiles - sum.tiles) + Math.abs(bytes - sum.bytes),
  );
  return { ...sum, drift: drift.reduce((total, one) => total + one, 0) };
}
