import { boundsAround } from '../domain/bounds.ts';
import type { TileRangeLevel } from '../domain/grid-subset.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import { addResults } from './perform-step.ts';
import { type Counts, type FailureReason, NO_COUNTS, type Report, type StepFailure } from './store/lease.ts';
import type { TaskPlan } from './task-plan.ts';

/** How a step ended: its counts (null: nothing to do), or why it failed. */
export type StepOutcome =
  | { readonly ok: true; readonly counts: Counts | null }
  | ({ readonly ok: false; readonly tiles: bigint } & FailureReason);

export interface TallySnapshot extends Pick<Report, 'doneSteps' | 'counts' | 'failures' | 'retried'> {
  /** Where tiles were replaced or removed, rounded up to a rectangle a zoom. */
  readonly changed: ReadonlyMap<number, TileRect>;
}

/**
 * Unreported work of a lease. Steps of a piece end in any order; they are counted
 * once all before them have ended, so that one number says which of them a crash would repeat.
 */
export class LeaseTally {
  #doneSteps: number;
  readonly #ended = new Map<number, { step: TileRangeLevel; outcome: StepOutcome }>();
  #counts: Counts = NO_COUNTS;
  #failures: StepFailure[] = [];
  #retried = new Map<number, FailureReason | null>();
  #changed = new Map<number, TileRect>();

  readonly #plan: TaskPlan;

  constructor(plan: TaskPlan, doneSteps: number) {
    this.#plan = plan;
    this.#doneSteps = doneSteps;
  }

  stepEnded(index: number, step: TileRangeLevel, outcome: StepOutcome): void {
    this.#ended.set(index, { step, outcome });
    for (let next = this.#ended.get(this.#doneSteps); next; next = this.#ended.get(this.#doneSteps)) {
      this.#ended.delete(this.#doneSteps);
      this.#doneSteps++;
      this.#count(next.step, next.outcome);
    }
  }

  requestSent(): void {
    this.#counts = { ...this.#counts, upstreamRequests: this.#counts.upstreamRequests + 1 };
  }

  retryEnded(id: number, step: TileRangeLevel, tiles: bigint, outcome: StepOutcome): void {
    this.#retried.set(id, outcome.ok ? null : { reason: outcome.reason, upstream: outcome.upstream ?? null });
    if (!outcome.ok) return;
    this.#counts = addCounts(this.#counts, { ...(outcome.counts ?? NO_COUNTS), processed: tiles });
    this.#noteChange(step, outcome.counts);
  }

  take(): TallySnapshot {
    const snapshot = {
      doneSteps: this.#doneSteps,
      counts: this.#counts,
      failures: this.#failures,
      retried: this.#retried,
      changed: this.#changed,
    };
    this.#counts = NO_COUNTS;
    this.#failures = [];
    this.#retried = new Map();
    this.#changed = new Map();
    return snapshot;
  }

  #count(step: TileRangeLevel, outcome: StepOutcome): void {
    if (!outcome.ok) {
      const { tiles, reason, upstream = null } = outcome;
      this.#failures.push({ z: step.z, rect: step.rect, tiles, reason, upstream });
      return;
    }
    if (!outcome.counts) return;
    this.#counts = addCounts(this.#counts, outcome.counts);
    this.#noteChange(step, outcome.counts);
  }

  #noteChange({ z, rect }: TileRangeLevel, counts: Counts | null): void {
    if (!counts || counts.processed === BigInt(counts.present)) return;
    const known = this.#changed.get(z);
    const whole = wholeSteps(rect, this.#plan);
    this.#changed.set(z, known ? boundsAround([known, whole]) : whole);
  }
}

function addCounts(a: Counts, b: Counts): Counts {
  return { ...addResults(a, b), processed: a.processed + b.processed, removed: a.removed + b.removed };
}

/** A metatile is stored whole, even beyond the requested tiles. */
function wholeSteps(rect: TileRect, { stepColumns, stepRows }: TaskPlan): TileRect {
  return {
    minX: Math.floor(rect.minX / stepColumns) * stepColumns,
    minY: Math.floor(rect.minY / stepRows) * stepRows,
    maxX: (Math.floor(rect.maxX / stepColumns) + 1) * stepColumns - 1,
    maxY: (Math.floor(rect.maxY / stepRows) + 1) * stepRows - 1,
  };
}
