import type { Clock } from '../../lib/clock.ts';
import { jitter, type Random } from '../../lib/random.ts';

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** Reads of a window that failed or were slow open it when they are this many, and this share of all. */
const [MIN_BAD, BAD_SHARE] = [10, 0.5];
/** Milliseconds. */
const WINDOW = 10_000;
/** Milliseconds. Pauses double with each trial that fails, and when it opens again soon. */
const FIRST_PAUSE = 500;
const MAX_PAUSE = 10_000;
const SPREAD = 0.2;

/** `slow`: it was given up before its limit, for others. */
export type Outcome = 'done' | 'failed' | 'slow';

/**
 * Pauses requests to an object store that fails, or that is too slow to be of use.
 *
 * | state | admits | leaves it |
 * | --- | --- | --- |
 * | closed | every request | opens after 5 failures in a row, or when half of the reads of 10 s failed or were slow |
 * | open | one trial after each pause | a trial that succeeds closes it |
 */
export class ObjectBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  /** Milliseconds. A read that takes longer counts as slow. */
  readonly #slowAfter: number;
  #reads = { since: 0, all: 0, bad: 0 };
  #failures = 0;
  #open = false;
  #until = 0;
  #closedAt = Number.NEGATIVE_INFINITY;
  #pause = FIRST_PAUSE;

  constructor(clock: Pick<Clock, 'monotonic'>, random: Random, slowAfter: number) {
    this.#clock = clock;
    this.#random = random;
    this.#slowAfter = slowAfter;
  }

  get open(): boolean {
    return this.#open;
  }

  /** Whether no request is admitted now. */
  get paused(): boolean {
    return this.#open && this.#clock.monotonic() < this.#until;
  }

  /** Null: the request must not be sent. Otherwise the result is called with the request's outcome. */
  enter(isRead: boolean): ((outcome: Outcome) => void) | null {
    if (this.paused) return null;
    const isTrial = this.#open;
    // Others are not admitted before another pause is over.
    if (isTrial) this.#until = this.#clock.monotonic() + this.#pause;
    const begun = this.#clock.monotonic();
    return (outcome) => {
      if (isRead) this.#note(outcome !== 'done' || this.#clock.monotonic() - begun > this.#slowAfter);
      if (outcome === 'failed') this.#failed(isTrial);
      if (outcome === 'done') this.#succeeded(isTrial);
    };
  }

  #succeeded(isTrial: boolean): void {
    this.#failures = 0;
    if (!this.#open || !isTrial) return;
    this.#open = false;
    this.#closedAt = this.#clock.monotonic();
    this.#reads = { since: this.#closedAt, all: 0, bad: 0 };
  }

  #failed(isTrial: boolean): void {
    this.#failures++;
    if (this.#open ? isTrial : this.#failures >= THRESHOLD) this.#pauseNow();
  }

  #note(bad: boolean): void {
    const now = this.#clock.monotonic();
    if (now - this.#reads.since > WINDOW) this.#reads = { since: now, all: 0, bad: 0 };
    this.#reads.all++;
    if (!bad) return;
    const { all } = this.#reads;
    const count = ++this.#reads.bad;
    if (!this.#open && count >= MIN_BAD && count >= BAD_SHARE * all) this.#pauseNow();
  }

  #pauseNow(): void {
    const now = this.#clock.monotonic();
    if (!this.#open && now - this.#closedAt > WINDOW) this.#pause = FIRST_PAUSE;
    this.#open = true;
    this.#until = now + jitter(this.#pause, SPREAD, this.#random);
    this.#pause = Math.min(MAX_PAUSE, this.#pause * 2);
  }
}
