import type { HostFailure, UpstreamStatus } from '../../domain/upstream-status.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RequestEnd } from './upstream-limiter.ts';

/** Latencies. */
const REMEMBERED = 200;

/** Seconds over which the rate is taken. */
const RATE_SECONDS = 10;

export class HostFigures {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #latencies: number[] = [];
  #nextLatency = 0;
  readonly #errors = new Map<string, number>();
  /** Requests begun in each of the last seconds, by the second modulo their number. */
  readonly #perSecond: number[] = new Array(RATE_SECONDS + 1).fill(0);
  #second: number;
  #requests = 0;
  #refused = 0;
  #answerMs = 0;
  #lastFailure: HostFailure | null = null;

  constructor(clock: Pick<Clock, 'monotonic' | 'now'>) {
    this.#clock = clock;
    this.#second = this.#now();
  }

  begun(): void {
    this.#turn();
    this.#requests++;
    const slot = this.#second % this.#perSecond.length;
    this.#perSecond[slot] = (this.#perSecond[slot] ?? 0) + 1;
  }

  refused(): void {
    this.#refused++;
  }

  ended({ kind, reason, ms }: RequestEnd): void {
    this.#answerMs += ms;
    if (kind === 'answered') {
      this.#latencies[this.#nextLatency] = ms;
      this.#nextLatency = (this.#nextLatency + 1) % REMEMBERED;
    }
    if (reason === null) return;
    this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
    this.#lastFailure = { at: this.#clock.now(), reason };
  }

  report(): Pick<
    UpstreamStatus,
    'requestsPerSecond' | 'latency' | 'requests' | 'refused' | 'answerSeconds' | 'errors' | 'lastFailure'
  > {
    this.#turn();
    const running = this.#perSecond[this.#second % this.#perSecond.length] ?? 0;
    const begun = this.#perSecond.reduce((sum, count) => sum + count, 0) - running;
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

  #now(): number {
    return Math.floor(this.#clock.monotonic() / 1000);
  }

  #turn(): void {
    const now = this.#now();
    const first = Math.max(this.#second + 1, now - this.#perSecond.length + 1);
    for (let second = first; second <= now; second++) this.#perSecond[second % this.#perSecond.length] = 0;
    this.#second = now;
  }
}
