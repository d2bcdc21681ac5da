import type { Task } from '../../src/tasks/task.ts';
import type { TaskDraft } from '../../src/tasks/task-draft.ts';

/** What the kill loop asks of the server under test. */
export type Call =
  | { readonly type: 'create'; readonly draft: TaskDraft }
  | { readonly type: 'list' }
  | { readonly type: 'workers' };

export type Request = Call & { readonly id: number };

export type Answer =
  | { readonly type: 'ready' }
  | {
      readonly type: 'answer';
      readonly id: number;
      readonly tasks: readonly Task[];
      readonly pids: readonly number[];
    };
