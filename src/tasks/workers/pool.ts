/**
 * From a request to a worker: `TaskService.create` plans the task and records it with its pieces; the database
 * announces `TASKS_WAITING`; the server calls `wake` of this pool, which forks the processes at the first work
 * (`cli/child-processes.ts`) and sends them `WORK`. A process starts in `cli/child-process.ts`, opens pipeline, stores and
 * database in `app/open-task-process-app.ts`, and leases pieces in `child.ts` until it receives `STOP`.
 */
import { ChildPool, type ForkedProcess } from '../../lib/child-pool.ts';
import type { Env } from '../../lib/env.ts';
import type { Random } from '../../lib/random.ts';
import type { TilesChange } from '../lease-run.ts';
import { CANCEL, START, STOP, TILES_CHANGED, WORK, WORKER_CHANGED_TASKS } from './messages.ts';

interface WorkerPoolOptions extends Env {
  readonly count: number;
  /** Over all workers. */
  readonly threads: number;
  readonly fork: () => ForkedProcess;
  /** Names this pool in leases, e.g. by the server's process id and a random part. */
  readonly name: string;
  readonly workerGone: (owner: string, crashed: boolean) => Promise<void>;
  readonly tasksChanged: () => void;
  /** Resolves when no process shows these tiles any more. */
  readonly tilesChanged: (change: TilesChange) => Promise<void>;
  readonly random: Random;
}

/** Milliseconds. */
const STOP_TIMEOUT_MS = 6000;

/** Keeps a number of worker processes alive from the first work on: a server that only serves tiles has none. */
export function openWorkerPool(options: WorkerPoolOptions) {
  const { count, fork, name, clock, random, log } = options;
  const threads = Math.max(1, Math.floor(options.threads / count));
  const pool = new ChildPool({
    what: 'a worker process',
    fork,
    begin({ channel, number }) {
      channel.handle(WORKER_CHANGED_TASKS, options.tasksChanged);
      channel.handle(TILES_CHANGED, options.tilesChanged);
      channel.tell(START, { owner: `${name}/${number}`, threads, workers: count });
    },
    cleanUp: ({ number, retired }) => options.workerGone(`${name}/${number}`, !retired),
    stop: STOP,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    clock,
    random,
    log,
  });
  let started = false;

  function start(): void {
    if (started) return;
    started = true;
    for (let at = 0; at < count; at++) pool.keep();
  }

  return {
    start,
    /** There is work for them, which are started if need be. */
    wake(): void {
      start();
      pool.tell(WORK, null);
    },
    cancel: (taskId: number): void => pool.tell(CANCEL, { taskId }),
    /** Asks the workers to hand their pieces back, and ends those that do not in time. */
    close: () => pool.close(),
  };
}
