import type { UpstreamWords } from '../../domain/errors.ts';
import type { TileRangeLevel } from '../../domain/grid-subset.ts';
import { NOTHING_RENEWED, type RenewResult } from '../../pipeline/tile-pipeline.ts';
import type { TaskRequest, TaskWait } from '../task.ts';
import type { Piece, TaskPlan } from '../task-plan.ts';

interface LeaseBase {
  readonly token: number;
  readonly taskId: number;
  readonly request: TaskRequest;
  readonly plan: TaskPlan;
  readonly threads: number;
}

/** Work that one worker has taken: a piece, or steps that failed before and are due again. */
export type Lease =
  | (LeaseBase & {
      readonly kind: 'piece';
      readonly piece: Piece;
      /** Steps before this one are done and counted. */
      readonly doneSteps: number;
      /** A worker has died here: go one step at a time and report each. */
      readonly careful: boolean;
    })
  | (LeaseBase & { readonly kind: 'retry'; readonly steps: readonly FailedStep[] });

export interface FailedStep extends TileRangeLevel {
  readonly id: number;
  readonly tiles: bigint;
}

export interface Counts extends RenewResult {
  /** Tiles that the step had to account for. */
  readonly processed: bigint;
  readonly removed: number;
}

export const NO_COUNTS: Counts = { ...NOTHING_RENEWED, processed: 0n, removed: 0 };

export interface FailureReason {
  readonly reason: string;
  /** Null or absent unless a map server caused it. */
  readonly upstream?: UpstreamWords | null;
}

export interface StepFailure extends FailureReason, TileRangeLevel {
  readonly tiles: bigint;
}

/** A host that fails repeatedly, so that a step sent no request. */
export interface HostAway {
  readonly host: string;
  /** How it fails, e.g. `connection`. */
  readonly failure: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** How far an export is; these figures replace those of earlier reports. */
export interface ExportFigures {
  readonly tiles: number;
  readonly expected: number;
  /** Size of the whole file; null until it exists. */
  readonly bytes: number | null;
  /** The file's name in its store; null until it is stored. */
  readonly file: string | null;
}

export interface Report {
  readonly token: number;
  /** Counts the lease's reports from 0. A report that is repeated because its response was lost is recorded once. */
  readonly beat: number;
  /** For a piece: every step before this one is in `counts` or `failures` of this report or an earlier one. */
  readonly doneSteps: number;
  readonly counts: Counts;
  readonly failures: readonly StepFailure[];
  /** For failed steps that were tried again, by id: null when it went well, else why it failed again. */
  readonly retried: ReadonlyMap<number, FailureReason | null>;
  readonly workMs: number;
  /** `go-on` keeps the lease, `hand-back` returns its rest, `finish` ends it. */
  readonly intent: 'go-on' | 'hand-back' | 'finish';
  /** Whether the worker has no free thread. */
  readonly crowded: boolean;
  /** Tasks that this worker skips for now; no other task makes room for them. */
  readonly resting?: readonly number[];
  /** Why it is handed back, where a failing host is the reason. */
  readonly hostAway?: HostAway | null;
  /** The wait that some or all of its threads have begun. */
  readonly wait?: TaskWait | null;
  readonly figures?: ExportFigures | null;
}

/**
 * `go-on`: continue. `hand-back`: recorded; finish the steps in flight and hand back, another task's turn has come.
 * `over`: the lease had ended, nothing of the report was recorded; stop immediately.
 */
export type ReportResponse = 'go-on' | 'hand-back' | 'over';

export interface LeaseWish {
  readonly owner: string;
  readonly freeThreads: number;
  /** Workers that share the tasks, so that one does not take all threads of a task. */
  readonly workers: number;
  /** Tasks not to take: their host is unavailable. */
  readonly resting?: readonly number[];
  /** Includes the share of other nodes, which have had time to take it. */
  readonly leftovers?: boolean;
}
