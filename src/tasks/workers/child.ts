import type { Catalog } from '../../catalog/catalog.ts';
import type { Database } from '../../db/database.ts';
import type { Channel } from '../../lib/channel.ts';
import type { Env } from '../../lib/env.ts';
import type { Random } from '../../lib/random.ts';
import type { TilePipeline } from '../../pipeline/tile-pipeline.ts';
import type { LeaseRunOptions } from '../lease-run.ts';
import { createLeaseStore } from '../store/lease-store.ts';
import { TASKS_CHANGED, TASKS_WAITING } from '../store/task-rows.ts';
import { createTaskStore } from '../store/task-store.ts';
import { TaskRunner } from '../task-runner.ts';
import { CANCEL, START, STOP, TILES_CHANGED, WORK, WORKER_CHANGED_TASKS } from './messages.ts';

interface TaskWorkerOptions extends Env, Pick<LeaseRunOptions, 'exporter'> {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
  readonly pipeline: TilePipeline;
  readonly channel: Channel;
  readonly random: Random;
}

/**
 * The side of a forked process: obeys the server's pool until it sends stop. `stopped` resolves when it has and
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
  // PostgreSQL notifies every process by itself: the server would send this message back to us, without end.
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
