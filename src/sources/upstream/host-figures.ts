import type { HostFailure, UpstreamStatus } from '../../domain/upstream-status.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RequestEnd } from './upstream-limiter.ts';

/** Latencies that are remembered, for percentiles. */
const MAX_LATENCIES = 200;
/** The rate is the mean of this time. */
const RATE_SECONDS = 10;

/** Counts the requests to one host, for its status and for metrics. */
export class HostFigures {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #latencies: number[] = [];
  readonly #errors = new Map<string, number>();
  /** Requests begun, by the second, the oldest first. */
  readonly #perSecond = new Map<number, number>();
  #requests = 0;
  #refused = 0;
  #answerMs = 0;
  #lastFailure: HostFailure | null = null;

  constructor(clock: Pick<Clock, 'monotonic' | 'now'>) {
    this.#clock = clock;
  }

  begun(): void {
    const now = this.#second();
    this.#requests++;
    this.#perSecond.set(now, (this.#perSecond.get(now) ?? 0) + 1);
    for (const second of this.#perSecond.keys()) {
      if (second >= now - RATE_SECONDS) return;
      this.#perSecond.delete(second);
    }
  }

  refused(): void {
    this.#refused++;
  }

  ended({ kind, reason, ms }: RequestEnd): void {
    this.#answerMs += ms;
    if (kind === 'answered') {
      this.#latencies.push(ms);
      if (this.#latencies.length > MAX_LATENCIES) this.#latencies.shift();
    }
    if (reason === null) return;
    this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
    this.#lastFailure = { at: this.#clock.now(), reason };
  }

  report() {
    const now = this.#second();
    let begun = 0;
    for (let past = 1; past <= RATE_SECONDS; past++) begun += this.#perSecond.get(now - past) ?? 0;
    return {
      requestsPerSecond: begun / RATE_SECONDS,
      latency: this.#latency(),
      requests: this.#requests,
      refused: this.#refused,
      answerSeconds: this.#answerMs / 1000,
      errors: Object.fromEntries(this.#errors),
      lastFailure: this.#lastFailure,
    };
  }

  #latency(): UpstreamStatus['latency'] {
    if (this.#latencies.length === 0) return null;
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p95: at(0.95) };
  }

  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1000);
  }
}
