import { boundsOfTile } from '../../src/domain/grid-set.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { resolveTileSet } from '../../src/pipeline/resolve-tile-set.ts';
import { acceptImage } from '../../src/raster/accept-image.ts';
import type { Task } from '../../src/tasks/task.ts';
import type { TaskDraft } from '../../src/tasks/task-draft.ts';
import { isFinal } from '../../src/tasks/task-state.ts';
import type { MockWms } from '../fixtures/mock-wms.ts';
import { showsPlace } from '../fixtures/mock-wms-pixels.ts';
import { LAYER, MAX_ZOOM, openFaultHouse, TILE_SIZE } from './fault-house.ts';
import { ServerUnderTest } from './server-under-test.ts';

export interface KillLoopOptions {
  readonly cycles: number;
  /** The same seed kills at the same moments, as far as a machine allows. */
  readonly seed: number;
  readonly folder: string;
  readonly wms: MockWms;
  readonly say: (line: string) => void;
}

export interface KillLoopReport {
  readonly acknowledged: number;
  readonly lost: readonly number[];
  readonly miscounted: readonly string[];
  readonly wrongTiles: readonly string[];
  readonly tilesChecked: number;
  /** Milliseconds that the slowest start took. */
  readonly slowestStart: number;
}

/** Milliseconds. */
const LONGEST_LIFE = 1500;
const END_WITHIN = 120_000;
const WORLD = 20037508;
const ALL_TILES = (4 ** (MAX_ZOOM + 1) - 1) / 3;

/** Starts a server, gives it tasks, kills it at a random moment, again and again; then looks at what became of it all. */
export async function runKillLoop(options: KillLoopOptions): Promise<KillLoopReport> {
  const { cycles, folder, wms } = options;
  const random = createRandom(options.seed);
  const seen = new Map<number, Task>();
  const lost: number[] = [];
  const miscounted: string[] = [];
  let slowestStart = 0;

  async function start(): Promise<ServerUnderTest> {
    const began = performance.now();
    const server = await ServerUnderTest.start(folder, wms.url);
    slowestStart = Math.max(slowestStart, performance.now() - began);
    return server;
  }

  /** Every task that was acknowledged is there and has not gone backwards. */
  async function lookAtTasks(server: ServerUnderTest): Promise<readonly Task[]> {
    const tasks = new Map((await server.list()).map((task) => [task.id, task]));
    for (const [id, before] of seen) {
      const task = tasks.get(id);
      if (!task) lost.push(id);
      if (task) compare(before, task, miscounted);
      if (task) seen.set(id, task);
    }
    return [...tasks.values()];
  }

  async function submit(server: ServerUnderTest, draft: TaskDraft): Promise<number> {
    const task = await server.create(draft);
    const newest = Math.max(0, ...seen.keys());
    if (task.id <= newest) miscounted.push(`id ${task.id} came after ${newest}`);
    seen.set(task.id, task);
    return task.id;
  }

  /** Until the workers are at work: two in three kills come then, the others at any moment from the start on. */
  async function untilMoving(server: ServerUnderTest): Promise<void> {
    const processed = (tasks: readonly Task[]) => tasks.reduce((sum, task) => sum + task.tilesProcessed, 0n);
    const before = processed(await server.list());
    const deadline = performance.now() + END_WITHIN;
    while (processed(await server.list()) === before && performance.now() < deadline)
      await systemClock.sleep(20);
  }

  async function untilEnded(server: ServerUnderTest): Promise<void> {
    const deadline = performance.now() + END_WITHIN;
    while (!(await lookAtTasks(server)).every((task) => isFinal(task.state))) {
      if (performance.now() > deadline) throw new Error('tasks do not come to an end');
      await systemClock.sleep(100);
    }
  }

  for (let cycle = 1; cycle <= cycles; cycle++) {
    const server = await start();
    await lookAtTasks(server);
    wms.version = cycle;
    await submit(server, randomDraft(random));
    if (cycle % 3 !== 0) await untilMoving(server);
    await systemClock.sleep(random() * LONGEST_LIFE);
    if (cycle % 5 === 0) await killOneWorker(server, random);
    await server.end(cycle % 7 === 0 ? 'SIGTERM' : 'SIGKILL');
    if (cycle % 10 === 0) options.say(`${cycle} of ${cycles} cycles, ${seen.size} tasks acknowledged`);
  }

  const server = await start();
  await untilEnded(server);
  const early = await checkTiles(options, (version) => version >= 1 && version <= cycles);
  wms.version = cycles + 1;
  await submit(server, { layer: LAYER, type: 'reseed', threadCount: 4 });
  await untilEnded(server);
  const late = await checkTiles(options, (version) => version === cycles + 1);
  if (late.checked !== ALL_TILES)
    miscounted.push(`${late.checked} of ${ALL_TILES} tiles after a full reseed`);
  await submit(server, { layer: LAYER, type: 'truncate' });
  await untilEnded(server);
  const none = await checkTiles(options, () => false);
  if (none.checked > 0) miscounted.push(`${none.checked} tiles after a full truncate`);
  await server.end('SIGTERM');
  for (const task of seen.values()) checkEnd(task, miscounted);
  return {
    acknowledged: seen.size,
    lost,
    miscounted,
    wrongTiles: [...early.wrong, ...late.wrong],
    tilesChecked: early.checked + late.checked,
    slowestStart,
  };
}

function compare(before: Task, after: Task, complaints: string[]): void {
  if (after.tilesProcessed < before.tilesProcessed || after.tilesProcessed > after.tilesTotal) {
    complaints.push(`task ${after.id} went from ${before.tilesProcessed} to ${after.tilesProcessed}`);
  }
  if (isFinal(before.state) && after.state !== before.state) {
    complaints.push(`task ${after.id} went from ${before.state} to ${after.state}`);
  }
}

function checkEnd(task: Task, complaints: string[]): void {
  const { made, present, failed } = task.counters;
  const counted = task.request.type === 'truncate' ? task.tilesTotal : BigInt(made + present);
  const right = task.state === 'done' && task.tilesProcessed === task.tilesTotal && failed === 0;
  if (right && counted === task.tilesTotal) return;
  complaints.push(
    `task ${task.id} (${task.request.type}) ended ${task.state}, ${task.reason}: ${task.tilesProcessed} of ${task.tilesTotal}, made ${made}, present ${present}, failed ${failed}`,
  );
}

function randomDraft(random: () => number): TaskDraft {
  const type = ['seed', 'seed', 'reseed', 'truncate'][Math.floor(random() * 4)] ?? 'seed';
  const side = () => (random() * 2 - 1) * WORLD;
  const [x1, x2, y1, y2] = [side(), side(), side(), side()];
  const coords = [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)];
  const zoomStop = 3 + Math.floor(random() * (MAX_ZOOM - 2));
  return { layer: LAYER, type, coords, zoomStart: 0, zoomStop, threadCount: 1 + Math.floor(random() * 4) };
}

async function killOneWorker(server: ServerUnderTest, random: () => number): Promise<void> {
  const pids = await server.workerPids();
  const pid = pids[Math.floor(random() * pids.length)];
  if (pid) process.kill(pid, 'SIGKILL');
  await systemClock.sleep(random() * LONGEST_LIFE);
}

/** Every stored tile decodes and shows its own place, as the map was at an allowed version. */
async function checkTiles(
  { folder, wms }: KillLoopOptions,
  allowed: (version: number) => boolean,
): Promise<{ checked: number; wrong: string[] }> {
  const house = await openFaultHouse(folder, wms.url);
  const { set, subset } = resolveTileSet(house.bound, { gridSet: null, format: null, parameters: new Map() });
  const wrong: string[] = [];
  let checked = 0;
  for (let z = 0; z <= MAX_ZOOM; z++) {
    for await (const { x, y } of house.store.tiles(set, z)) {
      const tile = await house.store.get(set, { z, x, y });
      checked++;
      if (!tile || !(await shows(tile.bytes, z, x, y))) wrong.push(`${z}/${x}/${y}`);
    }
  }
  await house.close();
  return { checked, wrong };

  async function shows(bytes: Buffer, z: number, x: number, y: number): Promise<boolean> {
    const image = await acceptImage(bytes, null, TILE_SIZE, TILE_SIZE);
    const bounds = boundsOfTile(subset.gridSet, z, x, y);
    const place = {
      srs: 3857,
      bounds,
      width: TILE_SIZE,
      height: TILE_SIZE,
      parameters: new Map([['LAYERS', 'a']]),
    };
    for (let version = wms.version; version >= 1; version--) {
      if (allowed(version) && showsPlace(image, { ...place, version })) return true;
    }
    return false;
  }
}

/** Small and repeatable (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
