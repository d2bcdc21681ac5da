import type { Bounds, Polygon } from '../domain/bounds.ts';
import type { UpstreamWords } from '../domain/errors.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import type { HostClosing } from '../domain/upstream-status.ts';
import type { RenewResult } from '../pipeline/tile-pipeline.ts';

/** Types that a request for a task, or a schedule, may name. */
export const WORK_TYPES = ['seed', 'reseed', 'truncate'] as const;
/** An export is ordered in its own way; docs/decisions/0290. */
export const TASK_TYPES = [...WORK_TYPES, 'export'] as const;
export type TaskType = (typeof TASK_TYPES)[number];

/**
 * pending ─► running ─► done
 *    │  ▲       │ ├────► aborted   (killed, or failures reached their limit)
 *    │  └───────┘ │                (its processes are gone; others take it up)
 *    ├──────────► aborted
 *    └─► paused ◄─┘  paused ─► pending (resumed) | aborted
 *
 * done and aborted are final.
 */
export const TASK_STATES = ['pending', 'running', 'paused', 'done', 'aborted'] as const;
export type TaskState = (typeof TASK_STATES)[number];
export const UNFINISHED: readonly TaskState[] = ['pending', 'running', 'paused'];

/**
 * How a task ended. `partial`: every tile was tried and some failed. `failed`: it was given up early, or no tile could
 * be made. `stopped`: by a user or a schedule.
 */
export const TASK_OUTCOMES = ['ok', 'partial', 'failed', 'stopped'] as const;
export type TaskOutcome = (typeof TASK_OUTCOMES)[number];

/** As the format of a truncate: every tile set of the grid set that is cached, whatever its format and parameters. */
export const EVERY_FORMAT = '*';

/** The request, with defaults filled in and names checked. */
export interface TaskRequest extends Omit<TileSetKey, 'incarnation'> {
  readonly type: TaskType;
  /** Complete parameter values; `parametersId` names the tile set they make. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly zoomStart: number;
  readonly zoomStop: number;
  /** In the grid set's CRS. */
  readonly bounds: Bounds;
  /** Narrows `bounds`; in the grid set's CRS. */
  readonly area: readonly Polygon[] | null;
  /** The name of the declared area that had this shape at the time of the request. */
  readonly areaName?: string;
  /** A seed that renews existing stale tiles, and makes no missing ones. */
  readonly onlyStale: boolean;
  readonly threadCount: number;
  readonly tileFailureRetryCount: number;
  /** Milliseconds. */
  readonly tileFailureRetryWaitTime: number;
  readonly totalFailuresBeforeAborting: number;
  /** Waits for a failing host; false if the request limits the number of failures. */
  readonly waitsForHosts: boolean;
  /** Tasks of a higher priority get a larger share of the threads; default 0. */
  readonly priority: number;
  /** Absent: by zoom. The pages themselves, in their order, are in the plan. */
  readonly order?: 'use';
  /** Share of the recorded use at the time of the request. */
  readonly share?: number;
  /** Only for exports. */
  readonly archive?: Archive;
}

export const ARCHIVE_TYPES = ['mbtiles', 'pmtiles', 'gpkg'] as const;

/** The file of an export, with those fields of the API request that `TaskRequest` has in another form. */
export interface ArchiveOrder {
  readonly type: (typeof ARCHIVE_TYPES)[number];
  readonly parameters: Readonly<Record<string, string>>;
  /** GeoJSON. */
  readonly area?: object;
  readonly areaCrs?: string;
}

export interface Archive extends ArchiveOrder {
  /** A hash of the order. */
  readonly id: string;
  /** The store that keeps the file, by name. */
  readonly store: string;
  /** Result of `tilesSince` at the time of the request: if it differs later, the file is made again. */
  readonly since: string;
}

interface TaskCounters extends RenewResult {
  readonly removed: number;
  readonly failed: number;
}

export interface TaskErrorSample {
  readonly at: number;
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly message: string;
  /** Absent in samples of earlier versions. */
  readonly upstream?: UpstreamWords | null;
}

/** The cause of a wait: a paused host, `host:port`, or a store that is full or fails. */
export type TaskWait =
  | (HostClosing & { readonly host: string })
  | { readonly reason: 'store-full' | 'store-failed'; readonly until: number; readonly message: string };

export type NotedWait = TaskWait & { readonly notedAt: number }; // When a worker reported it.

export interface Task {
  readonly id: number;
  /** The number of its latest change; see `TaskEvent`. */
  readonly eventId: number;
  readonly request: TaskRequest;
  readonly state: TaskState;
  /** Null until it has ended. */
  readonly outcome: TaskOutcome | null;
  /** Why it ended early or waits, in words; null while all is well. */
  readonly reason: string | null;
  readonly tilesProcessed: bigint;
  /** For an export 0 until its tiles have been listed. */
  readonly tilesTotal: bigint;
  /** −1 while unknown. */
  readonly secondsRemaining: number;
  /** Tiles per second, smoothed; 0 when nothing moves. */
  readonly tilesPerSecond: number;
  readonly waitingFor: NotedWait | null;
  readonly counters: TaskCounters;
  readonly errors: readonly TaskErrorSample[];
  /** The name of the file that an export has made; null: none. */
  readonly file: string | null;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** Changes of a task's state. `lost`: the processes that worked on it are gone. */
export type TaskTransition = 'started' | 'lost' | 'finished' | 'failed' | 'killed' | 'paused' | 'resumed';

const TRANSITIONS: Readonly<Record<TaskState, Partial<Readonly<Record<TaskTransition, TaskState>>>>> = {
  pending: { started: 'running', killed: 'aborted', failed: 'aborted', paused: 'paused' },
  running: { lost: 'pending', finished: 'done', failed: 'aborted', killed: 'aborted', paused: 'paused' },
  paused: { resumed: 'pending', killed: 'aborted' },
  done: {},
  aborted: {},
};

/** The state after it, or null when it cannot happen in this state. */
export function stateAfter(state: TaskState, transition: TaskTransition): TaskState | null {
  return TRANSITIONS[state][transition] ?? null;
}

/** The states in which it can happen. */
export function statesBefore(transition: TaskTransition): readonly TaskState[] {
  const states = Object.keys(TRANSITIONS) as TaskState[];
  return states.filter((state) => stateAfter(state, transition) !== null);
}

export function isFinal(state: TaskState): boolean {
  return Object.keys(TRANSITIONS[state]).length === 0;
}
