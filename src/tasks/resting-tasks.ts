import type { HostClosing } from '../domain/upstream-status.ts';
import type { Clock } from '../lib/clock.ts';

/** Milliseconds. However long a host is to be left alone, somebody looks again now and then: plans change. */
const LONGEST_REST = 60_000;
/** A host that fails may be seen to work again by people, long before a task would have tried. */
const LONGEST_REST_FAILING = 5000;
const SHORTEST_REST = 1000;

/** Tasks that a worker leaves alone for a while, so that its threads are free for others. */
export class RestingTasks {
  readonly #clock: Clock;
  /** On the monotonic clock. */
  readonly #until = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: number, { until, reason }: HostClosing): void {
    const longest = reason === 'failing' ? LONGEST_REST_FAILING : LONGEST_REST;
    const rest = Math.min(longest, Math.max(SHORTEST_REST, until - this.#clock.now()));
    this.#until.set(id, this.#clock.monotonic() + rest);
  }

  ids(): readonly number[] {
    const now = this.#clock.monotonic();
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
    return [...this.#until.keys()];
  }
}
