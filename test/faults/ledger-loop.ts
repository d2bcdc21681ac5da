import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { started } from '../../scripts/started.mjs';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { loadEvictions } from '../../src/quota/evictions.ts';
import { Ledger } from '../../src/quota/ledger.ts';
import { sumOfChanges, type TileStore } from '../../src/storage/tile-store.ts';
import { tilesIn } from '../contracts/tile-store-tools.ts';
import { eventually } from '../fixtures/eventually.ts';
import { FROM_SOURCES } from '../fixtures/from-sources.ts';
import { openStoreIn } from '../fixtures/segment-store.ts';

export interface LedgerLoopReport {
  readonly kills: number;
  readonly truncations: number;
  readonly tilesChecked: number;
  /** Pages that quotas removed. */
  readonly evicted: number;
  /** Bytes and tiles by which the ledger and a recount differed, over all kills; also the bytes on disk. */
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
  const store = await openStoreIn(join(folder, 'store'));
  const database = await openDatabase({ location: join(folder, 'tilewarden.db'), ...tools });
  const ledger = new Ledger({ stores: new Map([['default', store]]), ...tools });
  try {
    await eventually(
      'nothing is left of what was dropped',
      () => store.sweeping(),
      ({ files }) => files === 0,
    );
    await ledger.refresh();
    const counted = await recount(store, acknowledged);
    const evicted = (await loadEvictions(database)).total.pages;
    const drift = driftOf(ledger, counted);
    await store.close();
    const onDisk = Math.abs(ledger.diskBytes(null) - (await diskBytesWithoutIndex(folder)));
    return { ...counted, evicted, drift: drift + onDisk };
  } finally {
    await database.close();
  }
}

/** The figure without an index, for which everything is read. The index is put back afterwards. */
async function diskBytesWithoutIndex(folder: string): Promise<number> {
  const [root, aside] = [join(folder, 'store'), join(folder, 'aside')];
  mkdirSync(aside, { recursive: true });
  const indexFiles = (at: string) => readdirSync(at).filter((name) => name.startsWith('index.sqlite'));
  for (const name of indexFiles(root)) renameSync(join(root, name), join(aside, name));
  const store = await openStoreIn(root);
  const ledger = new Ledger({ stores: new Map([['default', store]]), ...tools });
  await ledger.refresh();
  await store.close();
  for (const name of indexFiles(root)) rmSync(join(root, name));
  for (const name of indexFiles(aside)) renameSync(join(aside, name), join(root, name));
  return ledger.diskBytes(null);
}

async function recount(store: TileStore, acknowledged: ReadonlyMap<string, number>) {
  const sum = { tiles: 0, bytes: 0, resurrected: 0 };
  for await (const layer of store.layers()) {
    for await (const set of store.tileSets(layer)) {
      for await (const { bytes, createdAt } of tilesIn(store, set, 9)) {
        sum.tiles++;
        sum.bytes += bytes;
        if (createdAt < (acknowledged.get(layer) ?? 0)) sum.resurrected++;
      }
    }
  }
  return sum;
}

function driftOf(ledger: Ledger, counted: { tiles: number; bytes: number }): number {
  const { tiles, bytes } = sumOfChanges(ledger.blocks());
  return Math.abs(tiles - counted.tiles) + Math.abs(bytes - counted.bytes);
}
