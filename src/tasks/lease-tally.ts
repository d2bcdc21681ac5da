import type { TileRangeLevel } from '../domain/grid-subset.ts';
import { addResults } from './perform-step.ts';
import { type Counts, type FailureReason, NO_COUNTS, type Report, type StepFailure } from './store/lease.ts';

/** How a step ended: its counts (null: nothing to do), or why it failed. */
export type StepOutcome =
  | { readonly ok: true; readonly counts: Counts | null }
  | ({ readonly ok: false; readonly tiles: bigint } & FailureReason);

export type TallySnapshot = Pick<Report, 'doneSteps' | 'counts' | 'failures' | 'retried'>;

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

  constructor(doneSteps: number) {
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

  retryEnded(id: number, tiles: bigint, outcome: StepOutcome): void {
    this.#retried.set(id, outcome.ok ? null : { reason: outcome.reason, upstream: outcome.upstream ?? null });
    if (!outcome.ok) return;
    this.#counts = addCounts(this.#counts, { ...(outcome.counts ?? NO_COUNTS), processed: tiles });
  }

  take(): TallySnapshot {
    const snapshot = {
      doneSteps: this.#doneSteps,
      counts: this.#counts,
      failures: this.#failures,
      retried: this.#retried,
    };
    this.#counts = NO_COUNTS;
    this.#failures = [];
    this.#retried = new Map();
    return snapshot;
  }

  #count(step: TileRangeLevel, outcome: StepOutcome): void {
    if (!outcome.ok) {
      const { tiles, reason, upstream = null } = outcome;
      this.#failures.push({ z: step.z, rect: step.rect, tiles, reason, upstream });
      return;
    }
    if (outcome.counts) this.#counts = addCounts(this.#counts, outcome.counts);
  }
}

function addCounts(a: Counts, b: Counts): Counts {
  return { ...addResults(a, b), processed: a.processed + b.processed, removed: a.removed + b.removed };
}
