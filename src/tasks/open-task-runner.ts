import type { Catalog } from '../catalog/catalog.ts';
import type { Database } from '../db/database.ts';
import { TASKS_STOPPED, TASKS_WAITING } from './store/task-rows.ts';
import { createTaskStore } from './store/task-store.ts';
import { TaskRunner, type TaskRunnerOptions } from './task-runner.ts';

interface OpenRunnerOptions extends Omit<TaskRunnerOptions, 'layer' | 'failTask'> {
  readonly database: Database;
  readonly catalog: Pick<Catalog, 'layer'>;
}

/** Performs pieces of tasks in this process, whichever process has recorded them, until it is closed. */
export function openTaskRunner({ database, catalog, ...options }: OpenRunnerOptions) {
  const tasks = createTaskStore(database);
  const runner = new TaskRunner({
    ...options,
    layer: (name) => catalog.layer(name),
    failTask: (id, reason) => tasks.fail(id, reason, options.clock.now()),
  });
  const stopListening = [
    database.listen(TASKS_WAITING, () => runner.wake()),
    database.listen(TASKS_STOPPED, () => runner.check()),
  ];
  return {
    /** Hands every piece back and resolves when nothing runs. */
    async close(): Promise<void> {
      for (const stop of stopListening) stop();
      await runner.close();
    },
  };
}
