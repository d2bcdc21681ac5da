import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Catalog } from '../catalog/catalog.ts';
import type { Database } from '../db/database.ts';
import { type Channel, messageKind } from '../lib/channel.ts';
import { jitter, type Random } from '../lib/random.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { LeaseRunOptions, TilesChange } from './lease-run.ts';
import { createLeaseStore } from './store/lease-store.ts';
import { TASKS_CHANGED, TASKS_WAITING } from './store/task-rows.ts';
import { createTaskStore } from './store/task-store.ts';
import { TaskRunner } from './task-runner.ts';

/** A process that calls `openTaskWorker`, and the way to it. */
export interface WorkerProcess {
  readonly process: ChildProcess;
  readonly channel: Channel;
}

interface WorkerPoolOptions extends Surroundings {
  readonly count: number;
  /** Over all workers. */
  readonly threads: number;
  readonly fork: () => WorkerProcess;
  /** Names this pool in leases, e.g. by the server's process id and a random part. */
  readonly name: string;
  readonly workerGone: (owner: string, crashed: boolean) => Promise<void>;
  readonly tasksChanged: () => void;
  /** Resolves when no process shows these tiles any more. */
  readonly tilesChanged: (change: TilesChange) => Promise<void>;
  readonly random: Random;
}

/** Milliseconds. */
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 10_000;
/** A worker that has lived this long has not died of its start. */
const SOUND_LIFE = 30_000;
const STOP_PATIENCE = 6000;

/** Keeps a number of worker processes alive from the first work on: a server that only serves tiles has none. */
export function openWorkerPool(options: WorkerPoolOptions) {
  const { clock, log, random } = options;
  const ending = new AbortController();
  const workers = new Set<WorkerProcess>();
  const threads = Math.max(1, Math.floor(options.threads / options.count));

  async function liveOnce(owner: string): Promise<void> {
    const hired = options.fork();
    const { process: worker, channel } = hired;
    workers.add(hired);
    channel.handle(WORKER_CHANGED_TASKS, options.tasksChanged);
    channel.handle(TILES_CHANGED, options.tilesChanged);
    worker.on('error', (error) => log.warn({ err: error, owner }, 'a worker process could not be reached'));
    channel.tell(START, { owner, threads, workers: options.count });
    const [code, signal] = worker.exitCode === null ? await once(worker, 'exit') : [worker.exitCode, null];
    workers.delete(hired);
    const crashed = !ending.signal.aborted;
    if (crashed) log.warn({ owner, code, signal }, 'a worker process ended; another one is started');
    await options.workerGone(owner, crashed);
  }

  async function keepAlive(index: number): Promise<void> {
    let pause = FIRST_PAUSE;
    for (let life = 1; !ending.signal.aborted; life++) {
      const born = clock.monotonic();
      await liveOnce(`${options.name}/${index}.${life}`).catch((error: unknown) => {
        log.error({ err: error }, 'supervising a worker process failed');
      });
      if (ending.signal.aborted) return;
      if (clock.monotonic() - born > SOUND_LIFE) pause = FIRST_PAUSE;
      await clock.sleep(jitter(pause, 0.2, random), ending.signal).catch(() => {});
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  let lives: readonly Promise<void>[] = [];

  function start(): void {
    if (lives.length > 0 || ending.signal.aborted) return;
    lives = Array.from({ length: options.count }, (_, index) => keepAlive(index + 1));
  }

  async function killLate(signal: AbortSignal): Promise<void> {
    await clock.sleep(STOP_PATIENCE, signal);
    for (const worker of workers) worker.process.kill('SIGKILL');
  }

  return {
    /** Starts the processes, which stay. */
    start,
    /** There is work for them, which are started if need be. */
    wake(): void {
      start();
      for (const { channel } of workers) channel.tell(WORK, null);
    },
    cancel(taskId: number): void {
      for (const { channel } of workers) channel.tell(CANCEL, { taskId });
    },
    /** Asks the workers to hand their pieces back, and ends those that do not in time. */
    async close(): Promise<void> {
      ending.abort();
      for (const { channel } of workers) channel.tell(STOP, null);
      const done = new AbortController();
      const killing = killLate(done.signal).catch(() => {});
      await Promise.all(lives);
      done.abort();
      await killing;
    },
  };
}

interface TaskWorkerOptions extends Surroundings, Pick<LeaseRunOptions, 'exporter'> {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: TilePipeline;
  readonly channel: Channel;
  readonly random: Random;
}

/**
 * The side of a forked process: does what the server's pool says until it says stop. `stopped` resolves when it has and
 * every piece is handed back.
 */
export function openTaskWorker(options: TaskWorkerOptions): { readonly stopped: Promise<void> } {
  const { channel, database, clock, random, log, pipeline, exporter, catalog } = options;
  const leases = createLeaseStore({ database, clock, random });
  const tasks = createTaskStore(database);
  let runner: TaskRunner | null = null;

  channel.handle(START, ({ owner, threads, workers }) => {
    runner = new TaskRunner({
      owner,
      threads,
      workers,
      leases,
      pipeline,
      exporter,
      tilesChanged: (change) => channel.ask(TILES_CHANGED, change),
      layer: (name) => catalog.layer(name),
      failTask: (id, reason) => tasks.fail(id, reason, clock.now()),
      clock,
      log,
    });
  });
  channel.handle(WORK, () => runner?.wake());
  channel.handle(CANCEL, ({ taskId }) => runner?.cancel(taskId));

  const stopListening = [database.listen(TASKS_WAITING, () => runner?.wake())];
  // PostgreSQL tells every process by itself: what the server is told here it would tell us again, without end.
  if (database.dialect === 'sqlite') {
    stopListening.push(database.listen(TASKS_CHANGED, () => channel.tell(WORKER_CHANGED_TASKS, null)));
  }

  async function stop(): Promise<void> {
    await runner?.close();
    for (const stopOne of stopListening) stopOne();
  }

  const stopped = new Promise<void>((resolve, reject) => {
    channel.handle(STOP, () => void stop().then(resolve, reject));
  });
  return { stopped };
}

/** From the server to a worker. The first message: who the worker is and how much it may do at once. */
const START = messageKind<{
  readonly owner: string;
  readonly threads: number;
  readonly workers: number;
}>('start');
const WORK = messageKind('work');
const CANCEL = messageKind<{ readonly taskId: number }>('cancel');
const STOP = messageKind('stop');

/** From a worker to the server. */
const WORKER_CHANGED_TASKS = messageKind('tasks-changed');
/** Answered when no process of the server shows these tiles any more. */
const TILES_CHANGED = messageKind<TilesChange>('tiles-changed');
