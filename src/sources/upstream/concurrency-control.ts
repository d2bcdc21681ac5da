import type { Clock } from '../../lib/clock.ts';

interface ConcurrencyControlOptions {
  readonly max: number;
  /** False: always the whole limit. */
  readonly adaptive: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

interface LatencySample {
  readonly ms: number;
  /** On the monotonic clock. */
  readonly begunAt: number;
  /** Whether all places were taken when it began. */
  readonly crowded: boolean;
}

const START = 4;
const MIN_SAMPLES = 8;
/** Responses may take this much longer than the fastest ones before the limit falls. */
const SLOW = 1.5;
/** Up to this much longer than the fastest ones, the limit may rise. */
const STEADY = 1.25;
/** Milliseconds that count as noise, for any latency. */
const NOISE = 5;
/** The limit of an overloaded host is multiplied by this. */
const BACK_OFF = 0.5;
/** Milliseconds between measurements of the host's speed under low load. */
const PROBE_INTERVAL_MS = 30_000;
const PROBE_SHARE = 1 / 3;

/**
 * Estimates how many concurrent requests a host handles well: slowly up while responses are nearly as fast as ever,
 * down when they are slower or the host reports overload. The fastest response is measured with few concurrent
 * requests, at the start and from time to time, since maps and machines change.
 */
export class ConcurrencyControl {
  readonly #options: ConcurrencyControlOptions;
  #limit: number;
  #changedAt: number;
  #probedAt: number;
  /** The limit to restore after a measurement with few requests; null: none is running. */
  #before: number | null = null;
  #best: number | null = null;
  #doubling = true;
  #window: LatencySample[] = [];

  constructor(options: ConcurrencyControlOptions) {
    this.#options = options;
    this.#limit = this.#start();
    this.#changedAt = options.clock.monotonic();
    this.#probedAt = this.#changedAt;
  }

  get limit(): number {
    return this.#limit;
  }

  /** A response came. Requests that began under another limit are ignored. */
  observe(sample: LatencySample): void {
    if (!this.#options.adaptive || sample.begunAt < this.#changedAt) return;
    this.#window.push(sample);
    if (this.#window.length >= Math.max(MIN_SAMPLES, this.#limit)) this.#judge();
  }

  /** The host reported overload, or did not respond. */
  overloaded(begunAt: number): void {
    if (!this.#options.adaptive || begunAt < this.#changedAt) return;
    this.#doubling = false;
    this.#set(Math.floor(this.#limit * BACK_OFF));
  }

  /** The host was unavailable: its speed may be another one now. */
  restart(): void {
    this.#best = null;
    this.#doubling = true;
    this.#set(this.#start());
  }

  #start(): number {
    const { max, adaptive } = this.#options;
    return adaptive ? Math.min(max, START) : max;
  }

  #judge(): void {
    const typical = medianOf(this.#window.map(({ ms }) => ms));
    const crowded = this.#window.some((sample) => sample.crowded);
    this.#window = [];
    if (this.#before !== null) {
      this.#endProbe(typical);
      return;
    }
    this.#best = this.#limit === 1 ? typical : Math.min(this.#best ?? typical, typical);
    this.#adjust(typical, this.#best, crowded);
  }

  #adjust(typical: number, best: number, crowded: boolean): void {
    if (typical > best * SLOW + NOISE) {
      this.#slowDown(typical, best);
      return;
    }
    if (this.#isTimeToProbe(typical, best)) {
      this.#beginProbe();
      return;
    }
    if (crowded && typical <= best * STEADY + NOISE) this.#speedUp();
  }

  #slowDown(typical: number, best: number): void {
    this.#doubling = false;
    this.#set(
      Math.min(this.#limit - 1, Math.floor(this.#limit * Math.max(BACK_OFF, (best * SLOW) / typical))),
    );
  }

  #speedUp(): void {
    if (this.#limit >= this.#options.max) return;
    this.#set(this.#doubling ? this.#limit * 2 : this.#limit + 1);
  }

  #isTimeToProbe(typical: number, best: number): boolean {
    const due = this.#options.clock.monotonic() - this.#probedAt >= PROBE_INTERVAL_MS;
    return due && this.#limit > 2 && typical > best + NOISE;
  }

  #beginProbe(): void {
    this.#before = this.#limit;
    this.#set(Math.floor(this.#limit * PROBE_SHARE));
  }

  #endProbe(typical: number): void {
    const before = this.#before ?? this.#limit;
    this.#before = null;
    this.#best = typical;
    this.#probedAt = this.#options.clock.monotonic();
    this.#set(before);
  }

  #set(limit: number): void {
    this.#limit = Math.min(this.#options.max, Math.max(1, limit));
    this.#changedAt = this.#options.clock.monotonic();
    this.#window = [];
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
