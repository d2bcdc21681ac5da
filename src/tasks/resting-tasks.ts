import type { Clock } from '../lib/clock.ts';

/** Milliseconds. However long a host is to be left alone, somebody looks again now and then: plans change. */
const LONGEST_REST = 60_000;
const SHORTEST_REST = 1000;

/** Tasks that a worker leaves alone for a while, so that its threads are free for others. */
export class RestingTasks {
  readonly #clock: Clock;
  /** On the monotonic clock. */
  readonly #until = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `until`: milliseconds since 1970. */
  add(id: number, until: number): void {
    const rest = Math.min(LONGEST_REST, Math.max(SHORTEST_REST, until - this.#clock.now()));
    this.#until.set(id, this.#clock.monotonic() + rest);
  }

  ids(): readonly number[] {
    const now = this.#clock.monotonic();
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
    return [...this.#until.keys()];
  }
}
