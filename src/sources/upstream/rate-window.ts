/** So far may a request begin before its turn in an even row; timers are not exact. */
const TOLERANCE_MS = 25;

/**
 * Says when requests may begin: no more in any second than allowed, and evenly, so that delays on the way do
 * not pile them up at the server. Below one a second the window is longer: 0.1 means one in ten seconds.
 */
export class RateWindow {
  readonly #windowMs: number;
  readonly #intervalMs: number;
  /** The last beginnings, as many as a window may hold; the oldest at `#next`. */
  readonly #begun: number[];
  #next = 0;
  #evenly = Number.NEGATIVE_INFINITY;

  constructor(ratePerSecond: number) {
    this.#intervalMs = 1000 / ratePerSecond;
    this.#windowMs = Math.max(1000, this.#intervalMs);
    this.#begun = new Array(Math.max(1, Math.floor(ratePerSecond))).fill(Number.NEGATIVE_INFINITY);
  }

  /** Milliseconds until one more may begin; 0: now. */
  delayAt(now: number): number {
    const oldest = this.#begun[this.#next] ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, oldest + this.#windowMs - now, this.#evenly - TOLERANCE_MS - now);
  }

  begin(now: number): void {
    this.#begun[this.#next] = now;
    this.#next = (this.#next + 1) % this.#begun.length;
    this.#evenly = Math.max(now, this.#evenly) + this.#intervalMs;
  }
}
