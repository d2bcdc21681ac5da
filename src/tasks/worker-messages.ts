import type { TilesChange } from './lease-run.ts';
import type { TaskWait } from './task.ts';

/** What the server tells a worker process. */
export type ToWorker =
  /** The first message: who the worker is and how much it may do at once. */
  | { readonly type: 'start'; readonly owner: string; readonly threads: number; readonly workers: number }
  | { readonly type: 'work' }
  | { readonly type: 'cancel'; readonly taskId: number }
  | { readonly type: 'tiles-forgotten'; readonly id: number }
  | { readonly type: 'stop' };

/** What a worker process tells the server. */
export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'tasks-changed' }
  | { readonly type: 'task-waits'; readonly taskId: number; readonly wait: TaskWait }
  | { readonly type: 'tiles-changed'; readonly id: number; readonly change: TilesChange };
