import type { Clock } from '../../lib/clock.ts';
import { jitter, type Random } from '../../lib/random.ts';

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** Milliseconds. Pauses double with each trial that fails. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
const SPREAD = 0.2;

/** Leaves an object store alone that fails again and again, but for one trial after each pause. */
export class BucketBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  #failures = 0;
  #until = 0;
  #pause = FIRST_PAUSE;

  constructor(clock: Pick<Clock, 'monotonic'>, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get open(): boolean {
    return this.#failures >= THRESHOLD;
  }

  /** Whether a request may be sent. The first to ask after a pause is the trial; the others wait for another pause. */
  admits(): boolean {
    if (!this.open) return true;
    if (this.#clock.monotonic() < this.#until) return false;
    this.#until = this.#clock.monotonic() + this.#pause;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pause = FIRST_PAUSE;
  }

  failed(): void {
    this.#failures++;
    if (!this.open) return;
    this.#until = this.#clock.monotonic() + jitter(this.#pause, SPREAD, this.#random);
    this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
  }
}
