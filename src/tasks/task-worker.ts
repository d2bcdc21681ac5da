import type { Catalog } from '../catalog/catalog.ts';
import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { TilesChanged } from './lease-run.ts';
import { createLeaseStore } from './store/lease-store.ts';
import { TASKS_CHANGED, TASKS_WAITING } from './store/task-rows.ts';
import { createTaskStore } from './store/task-store.ts';
import { TaskRunner } from './task-runner.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/** The part of `process` that a forked worker speaks through. */
export interface WorkerChannel {
  send?(message: FromWorker, handle: undefined, options: undefined, sent: () => void): boolean;
  on(event: 'message', listener: (message: ToWorker) => void): unknown;
}

export interface TaskWorkerOptions {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: TilePipeline;
  readonly channel: WorkerChannel;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface TaskWorker {
  /** Resolves when the server has asked the worker to stop and every piece is handed back. */
  readonly stopped: Promise<void>;
}

/** The side of a forked process: does what the server's pool says until it says stop. */
export function openTaskWorker(options: TaskWorkerOptions): TaskWorker {
  const { channel, database, clock, random, log, pipeline, catalog } = options;
  const leases = createLeaseStore({ database, clock, random });
  const tasks = createTaskStore(database);
  const waiting = new Map<number, () => void>();
  let runner: TaskRunner | null = null;
  let messages = 0;

  // A server that has just died cannot be told; the end of the channel ends this process.
  const tell = (message: FromWorker) => channel.send?.(message, undefined, undefined, () => {});

  const tilesChanged: TilesChanged = (change) =>
    new Promise((resolve) => {
      const id = ++messages;
      waiting.set(id, resolve);
      tell({ type: 'tiles-changed', id, change });
    });

  function start({ owner, threads, workers }: Extract<ToWorker, { type: 'start' }>): TaskRunner {
    return new TaskRunner({
      owner,
      threads,
      workers,
      leases,
      pipeline,
      tilesChanged,
      layer: (name) => catalog.layer(name),
      taskWaits: (taskId, wait) => tell({ type: 'task-waits', taskId, wait }),
      failTask: (id, reason) => tasks.fail(id, reason, clock.now()),
      clock,
      log,
    });
  }

  const stopListening = [database.listen(TASKS_WAITING, () => runner?.wake())];
  // PostgreSQL tells every process by itself: what the server is told here it would tell us again, without end.
  if (database.dialect === 'sqlite') {
    stopListening.push(database.listen(TASKS_CHANGED, () => tell({ type: 'tasks-changed' })));
  }

  async function stop(): Promise<void> {
    await runner?.stop();
    for (const stopOne of stopListening) stopOne();
  }

  const stopped = new Promise<void>((resolve, reject) => {
    channel.on('message', (message) => {
      if (message.type === 'start') runner = start(message);
      if (message.type === 'work') runner?.wake();
      if (message.type === 'cancel') runner?.cancel(message.taskId);
      if (message.type === 'tiles-forgotten') {
        waiting.get(message.id)?.();
        waiting.delete(message.id);
      }
      if (message.type === 'stop') stop().then(resolve, reject);
    });
  });
  tell({ type: 'ready' });
  return { stopped };
}
