import type { Clock } from '../lib/clock.ts';

/** Ends what takes too long. All have the same time, so the first to begin is the first to end: one timer does. */
export class DeadlineWatch {
  readonly #clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly #deadlineMs: number;
  /** With when they end, on the monotonic clock; in order. */
  readonly #watched = new Map<() => void, number>();
  #timer: AbortController | null = null;

  constructor(clock: Pick<Clock, 'monotonic' | 'sleep'>, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /** Calls `giveUp` at the deadline, unless what is returned was called before. */
  watch(giveUp: () => void): () => void {
    this.#watched.set(giveUp, this.#clock.monotonic() + this.#deadlineMs);
    if (!this.#timer) this.#sleep(this.#deadlineMs);
    return () => {
      this.#watched.delete(giveUp);
      if (this.#watched.size === 0) this.#stop();
    };
  }

  #sleep(ms: number): void {
    const timer = new AbortController();
    this.#timer = timer;
    this.#clock.sleep(ms, timer.signal).then(
      () => this.#ring(),
      () => {},
    );
  }

  #ring(): void {
    this.#timer = null;
    for (const [giveUp, until] of this.#watched) {
      const left = until - this.#clock.monotonic();
      if (left > 0) {
        this.#sleep(Math.ceil(left));
        return;
      }
      this.#watched.delete(giveUp);
      giveUp();
    }
  }

  #stop(): void {
    this.#timer?.abort();
    this.#timer = null;
  }
}
