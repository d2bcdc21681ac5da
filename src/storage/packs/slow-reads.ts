import type { Clock } from '../../lib/clock.ts';

export const READ_WINDOW_MS = 10_000;
/** Reads of a window that failed or were slow are too many when they are this many, and this share of all. */
const [MIN_BAD, BAD_SHARE] = [10, 0.5];

/** Notices that an object store is too slow to be of use, though its answers are right. */
export class SlowReads {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #reads = { since: 0, all: 0, bad: 0 };

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  clear(): void {
    this.#reads = { since: this.#clock.monotonic(), all: 0, bad: 0 };
  }

  /** Whether half of the latest reads failed or were slow. */
  note(isBad: boolean): boolean {
    if (this.#clock.monotonic() - this.#reads.since > READ_WINDOW_MS) this.clear();
    this.#reads.all++;
    if (!isBad) return false;
    this.#reads.bad++;
    const { all, bad } = this.#reads;
    return bad >= MIN_BAD && bad >= BAD_SHARE * all;
  }
}
