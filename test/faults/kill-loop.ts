import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { eventually } from '../fixtures/eventually.ts';
import { inLength } from '../fixtures/length.ts';
import type { MockWms } from '../fixtures/mock-wms.ts';
import { ALL_TILES, checkTiles, configFor, LAYER, MAX_ZOOM } from './faulty-layer.ts';
import { type SeedRequest, ServerUnderTest, type ShownTask } from './server-under-test.ts';

export interface KillLoopOptions {
  readonly cycles: number;
  /** The same seed kills at the same moments, as far as a machine allows. */
  readonly seed: number;
  readonly folder: string;
  readonly wms: MockWms;
  /** Processes that answer HTTP. */
  readonly processes: number;
}

export interface KillLoopReport {
  readonly acknowledged: number;
  readonly lost: readonly number[];
  readonly miscounted: readonly string[];
  readonly wrongTiles: readonly string[];
  readonly tilesChecked: number;
}

/** Milliseconds. */
const MAX_LIFE_MS = 1500;
const WORLD = 20037508;

/** Repeats: starts a server, creates tasks, kills it at a random moment; then checks tasks, tiles and counts. */
export async function runKillLoop(options: KillLoopOptions): Promise<KillLoopReport> {
  const { cycles, folder, wms } = options;
  const loop = await KillLoop.open(folder, configFor(wms.url, options.processes));
  const random = createRandom(options.seed);
  // Slow enough that a kill comes in the middle.
  wms.answer = { delayMs: inLength(200, 50) };
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const server = await loop.start();
    await loop.checkTasks(server);
    wms.version = cycle;
    await loop.submit(server, randomRequest(random));
    if (cycle % 3 !== 0) await loop.untilMoving(server);
    await systemClock.sleep(random() * MAX_LIFE_MS);
    if (cycle % 5 === 0) await killOneWorker(server, random);
    await server.end(cycle % 7 === 0 ? 'SIGTERM' : 'SIGKILL');
  }
  wms.answer = 'good';
  const server = await loop.start();
  await loop.untilEnded(server);
  const allVersions = Array.from({ length: cycles }, (_, i) => cycles - i);
  const early = await checkTiles(loop.data, allVersions);
  wms.version = cycles + 1;
  await loop.submit(server, { type: 'reseed', threadCount: 4 });
  await loop.untilEnded(server);
  const late = await checkTiles(loop.data, [cycles + 1]);
  loop.expectTiles(late.checked, ALL_TILES, 'a full reseed');
  await loop.submit(server, { type: 'truncate', threadCount: 1 });
  await loop.untilEnded(server);
  loop.expectTiles((await checkTiles(loop.data, [])).checked, 0, 'a full truncate');
  await server.end('SIGTERM');
  loop.checkEnds();
  return {
    acknowledged: loop.seen.size,
    lost: loop.lost,
    miscounted: loop.miscounted,
    wrongTiles: [...early.wrong, ...late.wrong],
    tilesChecked: early.checked + late.checked,
  };
}

class KillLoop {
  readonly data: string;
  readonly seen = new Map<number, ShownTask | null>();
  readonly lost: number[] = [];
  readonly miscounted: string[] = [];
  readonly #config: string;

  private constructor(folder: string) {
    this.data = join(folder, 'data');
    this.#config = join(folder, 'tilewarden.yaml');
  }

  static async open(folder: string, config: string): Promise<KillLoop> {
    const loop = new KillLoop(folder);
    await mkdir(loop.data, { recursive: true });
    await writeFile(loop.#config, config);
    return loop;
  }

  start(): Promise<ServerUnderTest> {
    return ServerUnderTest.start(this.data, this.#config);
  }

  async submit(server: ServerUnderTest, request: SeedRequest): Promise<void> {
    const id = await server.seed(LAYER, request);
    const newest = Math.max(0, ...this.seen.keys());
    if (id <= newest) this.miscounted.push(`id ${id} came after ${newest}`);
    this.seen.set(id, null);
  }

  /** Every acknowledged task exists and has not gone backwards. */
  async checkTasks(server: ServerUnderTest): Promise<readonly ShownTask[]> {
    const tasks = new Map((await server.tasks()).map((task) => [task.id, task]));
    for (const [id, before] of this.seen) {
      const task = tasks.get(id);
      if (!task) {
        this.lost.push(id);
        this.seen.delete(id);
        continue;
      }
      this.#compare(before, task);
      this.seen.set(id, task);
    }
    return [...tasks.values()];
  }

  /**
   * Until the workers are at work: two in three kills come then, the others at any moment from the start on. A task whose
   * tiles are all present may have ended before the first list.
   */
  async untilMoving(server: ServerUnderTest): Promise<void> {
    const states = async () =>
      (await server.tasks()).map(({ id, state, tilesProcessed }) => `${id} ${state} ${tilesProcessed}`);
    const before = await states();
    const isAtWork = (now: readonly string[]) =>
      now.some((task, at) => task !== before[at]) || now.every((task) => /done|aborted/.test(task));
    await eventually('the workers are at work', states, isAtWork);
  }

  async untilEnded(server: ServerUnderTest): Promise<void> {
    await eventually(
      'all tasks have ended',
      () => this.checkTasks(server),
      (tasks) => tasks.every(isOver),
    );
  }

  expectTiles(found: number, wanted: number, after: string): void {
    if (found !== wanted) this.miscounted.push(`${found} tiles instead of ${wanted} after ${after}`);
  }

  checkEnds(): void {
    for (const task of this.seen.values()) {
      if (!task) continue;
      const { made, present, failed } = task.counters;
      const counted = task.type === 'truncate' ? task.tilesTotal : made + present;
      const right = task.state === 'done' && failed === 0 && counted === task.tilesTotal;
      if (right && task.tilesProcessed === task.tilesTotal) continue;
      this.miscounted.push(`task ended so: ${JSON.stringify(task)}`);
    }
  }

  #compare(before: ShownTask | null, after: ShownTask): void {
    if (after.tilesProcessed < (before?.tilesProcessed ?? 0) || after.tilesProcessed > after.tilesTotal) {
      this.miscounted.push(`task ${after.id} went from ${before?.tilesProcessed} to ${after.tilesProcessed}`);
    }
    if (before && isOver(before) && after.state !== before.state) {
      this.miscounted.push(`task ${after.id} went from ${before.state} to ${after.state}`);
    }
  }
}

function isOver({ state }: ShownTask): boolean {
  return state === 'done' || state === 'aborted';
}

function randomRequest(random: () => number): SeedRequest {
  const type = ['seed', 'seed', 'reseed', 'truncate'][Math.floor(random() * 4)] ?? 'seed';
  const side = () => (random() * 2 - 1) * WORLD;
  const [x1, x2, y1, y2] = [side(), side(), side(), side()];
  const coords = [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)];
  const zoomStop = 3 + Math.floor(random() * (MAX_ZOOM - 2));
  return { type, coords, zoomStop, threadCount: 1 + Math.floor(random() * 4) };
}

async function killOneWorker(server: ServerUnderTest, random: () => number): Promise<void> {
  const pids = server.workerPids();
  const pid = pids[Math.floor(random() * pids.length)];
  if (pid) process.kill(pid, 'SIGKILL');
  await systemClock.sleep(random() * MAX_LIFE_MS);
}

/** Small and repeatable: a linear congruential generator, good enough to choose moments. */
function createRandom(seed: number): () => number {
  let state = BigInt(seed);
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 11n) / 2 ** 53;
  };
}
