import type { StoreRoom } from '../storage/store.ts';
import type { Task, TaskOutcome, TaskState, TaskType } from './task.ts';
import type { TaskAuthor, TaskDraft } from './task-draft.ts';
import type { ZoomProgress } from './task-plan.ts';

/** Which tasks; each field narrows, and an empty list fits none. */
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

/** A page of them, newest first. */
export interface TaskListing extends TaskFilter {
  /** The last task of the page before. */
  readonly afterId?: number;
  readonly limit: number;
}

export interface TaskCounts {
  readonly state: Readonly<Record<TaskState, number>>;
  readonly outcome: Readonly<Record<TaskOutcome, number>>;
}

/** Work on one zoom. */
export interface ZoomEstimate {
  readonly z: number;
  readonly tiles: bigint;
  readonly metatiles: bigint;
  readonly cachedTiles: bigint;
  readonly cachedBytes: bigint;
  readonly staleTiles: bigint;
}

export interface TaskEstimate {
  /** For a truncate only cached tiles. */
  readonly tiles: bigint;
  readonly cachedTiles: bigint;
  readonly cachedBytes: bigint;
  /** Cached tiles that a seed renews: expired or invalidated. Of many tiles in proportion to some of them. */
  readonly staleTiles: bigint;
  readonly metatiles: bigint;
  readonly upstreamRequests: bigint;
  /** Size of all tiles, cached ones included; null: no basis for an estimate yet. */
  readonly bytes: bigint | null;
  /** Size of tiles stored in addition to the cached ones: a range where few tiles of a zoom are known. */
  readonly addedBytes: { readonly least: bigint; readonly most: bigint } | null;
  /** From the first on. */
  readonly zooms: readonly ZoomEstimate[];
  readonly seconds: number | null;
  /** Share of the use that the pages have, of an order by use; null of others. */
  readonly coveredUse: number | null;
  /** Free space of the disk with the tiles; null: no disk. */
  readonly disk: StoreRoom | null;
}

interface TaskFigures {
  readonly states: Readonly<Record<TaskState, number>>;
  readonly outcomes: Readonly<Record<TaskOutcome, number>>;
  /** Total of all running tasks, as far as this server has watched them. */
  readonly tilesPerSecond: number;
}

/**
 * A change of a task. Ids rise, over restarts too. A listener that was disconnected passes the last id it saw, and gets
 * each task that has changed since, once, in its current state.
 */
export interface TaskEvent {
  readonly id: number;
  readonly task: Task;
}

/** Tasks as the HTTP interface and the command line see them. Every promise of a change resolves when it is durable. */
export interface TaskService {
  /**
   * Throws `layer-unknown`, `request-invalid`, `parameter-refused`, `too-many-tasks` or `key-reused`, and then has changed nothing. An
   * export that is under way is returned for the same order, unless its tiles may have been truncated since; too many are `too-many-exports`.
   */
  create(draft: TaskDraft, author: TaskAuthor): Promise<Task>;
  /** All of them or none. */
  createAll(drafts: readonly TaskDraft[], author: TaskAuthor): Promise<readonly Task[]>;
  /** Throws `too-many-tasks`: for callers with work to do first that cannot be undone. */
  refuseUnlessRoomFor(count: number, author: TaskAuthor): Promise<void>;
  /** Stops it and removes it from the list of exports. */
  removeExport(id: number, by: string): Promise<void>;
  /** `combinations`: the number of tasks, one for each format and parameter set. */
  estimate(draft: TaskDraft, combinations?: number): Promise<TaskEstimate>;
  get(id: number): Promise<Task | null>;
  /** Adds up to the task's tiles; null: it does not, since the task changes or ended while failed tiles waited, or is an export. */
  progressByZoom(task: Task): Promise<readonly ZoomProgress[] | null>;
  list(filter: TaskListing): Promise<readonly Task[]>;
  count(filter: TaskFilter): Promise<TaskCounts>;
  layersOf(filter: TaskFilter): Promise<readonly string[]>;
  /** Pending and running tasks in id order, of one layer or of all; exports are not among them. */
  active(layer: string | null): Promise<readonly Task[]>;
  /** Stops those that have not ended; returns them as they were before. */
  cancel(filter: TaskFilter, by: string): Promise<readonly Task[]>;
  pause(id: number): Promise<Task | null>;
  resume(id: number): Promise<Task | null>;
  /** A new task over what failed in a finished one. */
  retryFailed(id: number, author: TaskAuthor): Promise<Task | null>;
  figures(): Promise<TaskFigures>;
  /** Calls back with every change after `afterEventId` (null: from now on); returns a function that unsubscribes. */
  subscribe(afterEventId: number | null, listener: (event: TaskEvent) => void): Promise<() => void>;
}

export type TaskSettings = Readonly<ReturnType<typeof taskSettingsFor>>;

/** By the number of processor cores: a worker for each, and enough metatiles in flight to keep an upstream busy. */
export function taskSettingsFor(cores: number) {
  return {
    /** Worker processes; 0: this node performs no tasks. */
    workers: cores,
    /** Metatiles in flight over all tasks of this node. */
    maxThreads: Math.max(8, cores * 4),
    /** A request's `threadCount` is reduced to this. */
    maxThreadCount: 64,
    /** Tasks that may wait or run at the same time; a further one is refused. */
    maxUnfinished: 1000,
    /** Finished tasks are kept this long, and this many. */
    keepDays: 30,
    keepFinished: 10_000,
  };
}
