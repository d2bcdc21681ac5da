import type { TaskOutcome, TaskState, TaskType } from './task.ts';

/** A selection of tasks. Each field narrows it; an empty list selects none. */
export interface TaskFilter {
  readonly ids?: readonly number[];
  /** The one with this id and all before it. */
  readonly upTo?: number;
  readonly states?: readonly TaskState[];
  readonly outcomes?: readonly TaskOutcome[];
  readonly layers?: readonly string[];
  readonly types?: readonly TaskType[];
  /** Exports as `/api/v1/exports` shows them. */
  readonly exported?: true;
  /** Created at or after, milliseconds since 1970. */
  readonly since?: number;
  /** Created before, milliseconds since 1970. */
  readonly until?: number;
}

/** A page of a selection, newest first. */
export interface TaskListing extends TaskFilter {
  /** The last task of the page before. */
  readonly afterId?: number;
  readonly limit: number;
}

export interface TaskCounts {
  readonly state: Readonly<Record<TaskState, number>>;
  readonly outcome: Readonly<Record<TaskOutcome, number>>;
}
