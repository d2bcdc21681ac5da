/** Remembers when requests began, so that no second ever holds more of them than allowed. */
export class RateWindow {
  readonly #windowMs: number;
  /** The last beginnings, as many as a window may hold; the oldest at `#next`. */
  readonly #begun: number[];
  #next = 0;

  /** Below one a second the window is longer: 0.1 means one request in ten seconds. */
  constructor(ratePerSecond: number) {
    this.#windowMs = Math.max(1000, 1000 / ratePerSecond);
    this.#begun = new Array(Math.max(1, Math.floor(ratePerSecond))).fill(Number.NEGATIVE_INFINITY);
  }

  /** Milliseconds until one more may begin; 0: now. */
  delayAt(now: number): number {
    const oldest = this.#begun[this.#next] ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, oldest + this.#windowMs - now);
  }

  begin(now: number): void {
    this.#begun[this.#next] = now;
    this.#next = (this.#next + 1) % this.#begun.length;
  }
}
