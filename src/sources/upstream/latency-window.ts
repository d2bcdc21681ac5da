const REMEMBERED = 200;

/** The latest latencies of a host. */
export class LatencyWindow {
  readonly #latest: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#latest[this.#next] = ms;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  /** Null while there are none. */
  quantiles(): { readonly p50: number; readonly p95: number } | null {
    if (this.#latest.length === 0) return null;
    const sorted = [...this.#latest].sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p95: at(0.95) };
  }
}
