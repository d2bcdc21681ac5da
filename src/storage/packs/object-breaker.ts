import type { Clock } from '../../lib/clock.ts';
import { jitter, type Random } from '../../lib/random.ts';

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** Reads that failed or are slow within the window open it when they are this many, and this share of all. */
const [MIN_BAD, BAD_SHARE] = [10, 0.1];
/** Milliseconds. */
const WINDOW = 10_000;
/** Milliseconds. Pauses double with each trial that fails, and when it opens again soon. */
const FIRST_PAUSE = 500;
const MAX_PAUSE = 10_000;
const SPREAD = 0.2;

/**
 * Pauses requests to an object store that fails, or of which a part does not answer: a few objects that hang would
 * otherwise hold every connection.
 *
 * | state | admits | leaves it |
 * | --- | --- | --- |
 * | closed | every request | opens after 5 failures in a row, or when a tenth of the reads of 10 s failed or are slow |
 * | open | one trial after each pause | a trial that succeeds closes it |
 */
export class ObjectBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  /** Milliseconds after which a read counts as slow, finished or not. */
  readonly #slowAfter: number;
  /** When reads under way began. */
  readonly #underWay = new Set<{ readonly begun: number }>();
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
    if (!this.#open && this.#isPartlyBad()) this.#pauseNow();
    return this.#open && this.#clock.monotonic() < this.#until;
  }

  /** Null: the request must not be sent. Otherwise the result is called with the request's outcome. */
  enter(isRead: boolean): ((failed: boolean) => void) | null {
    if (this.paused) return null;
    const isTrial = this.#open;
    // Others are not admitted before another pause is over.
    if (isTrial) this.#until = this.#clock.monotonic() + this.#pause;
    const request = { begun: this.#clock.monotonic() };
    if (isRead) this.#underWay.add(request);
    return (failed) => {
      if (this.#underWay.delete(request)) this.#note(failed || this.#isSlow(request));
      if (failed) this.#failed(isTrial);
      else this.#succeeded(isTrial);
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
    if (bad) this.#reads.bad++;
  }

  #isPartlyBad(): boolean {
    let slow = 0;
    for (const request of this.#underWay) if (this.#isSlow(request)) slow++;
    const bad = this.#reads.bad + slow;
    return bad >= MIN_BAD && bad >= BAD_SHARE * (this.#reads.all + slow);
  }

  #isSlow({ begun }: { readonly begun: number }): boolean {
    return this.#clock.monotonic() - begun > this.#slowAfter;
  }

  #pauseNow(): void {
    const now = this.#clock.monotonic();
    if (!this.#open && now - this.#closedAt > WINDOW) this.#pause = FIRST_PAUSE;
    this.#open = true;
    this.#until = now + jitter(this.#pause, SPREAD, this.#random);
    this.#pause = Math.min(MAX_PAUSE, this.#pause * 2);
  }
}
