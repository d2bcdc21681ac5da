import type { HostFailure, UpstreamStatus } from '../../domain/upstream-status.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RequestEnd } from './upstream-desk.ts';

const REMEMBERED = 200;

/** The latest latencies of a host. */
class LatencyWindow {
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

/** Seconds over which the rate is taken. */
const RATE_SECONDS = 10;

/** What is counted of one host since the start. */
export class HostFigures {
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #latency = new LatencyWindow();
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
    if (kind === 'answered') this.#latency.add(ms);
    if (reason === null) return;
    this.#errors.set(reason, (this.#errors.get(reason) ?? 0) + 1);
    this.#lastFailure = { at: this.#clock.now(), reason };
  }

  /** Milliseconds that nearly all of the latest answers took at most; null while there are none. */
  usualMs(): number | null {
    return this.#latency.quantiles()?.p95 ?? null;
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
      latency: this.#latency.quantiles(),
      requests: this.#requests,
      refused: this.#refused,
      answerSeconds: this.#answerMs / 1000,
      errors: Object.fromEntries(this.#errors),
      lastFailure: this.#lastFailure,
    };
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
