import type { Clock } from '../lib/clock.ts';

export interface Pace {
  readonly tilesPerSecond: number;
  /** −1 while it cannot be told. */
  readonly secondsRemaining: number;
}

/** Milliseconds after which an observation has lost two thirds of its weight. */
const MEMORY = 30_000;
/** Observations closer together than this say more about reporting than about work. */
const SHORTEST = 200;
/** Milliseconds without a tile after which nobody can tell when it will end. */
const STANDSTILL = 30_000;
const STANDING: Pace = { tilesPerSecond: 0, secondsRemaining: -1 };

/** How fast a task goes, smoothed, by what has been seen of it. Durations come from the monotonic clock. */
export class RateMeter {
  readonly #clock: Clock;
  #processed: bigint;
  #at: number;
  #movedAt: number;
  #rate = 0;
  /** Rises to 1: how much of `#rate` rests on observations. */
  #trust = 0;

  constructor(clock: Clock, processed: bigint) {
    this.#clock = clock;
    this.#processed = processed;
    this.#at = clock.monotonic();
    this.#movedAt = this.#at;
  }

  observe(processed: bigint): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#at;
    if (elapsed < SHORTEST) return;
    const { rate, trust } = this.#after(elapsed, Number(processed - this.#processed));
    this.#rate = rate;
    this.#trust = trust;
    if (processed !== this.#processed) this.#movedAt = now;
    this.#processed = processed;
    this.#at = now;
  }

  pace(remaining: bigint): Pace {
    if (this.#trust === 0 || this.#clock.monotonic() - this.#movedAt > STANDSTILL) return STANDING;
    const tilesPerSecond = this.#rate / this.#trust;
    if (tilesPerSecond === 0) return STANDING;
    const seconds = Math.ceil(Number(remaining) / tilesPerSecond);
    return { tilesPerSecond, secondsRemaining: Math.min(Math.max(0, seconds), Number.MAX_SAFE_INTEGER) };
  }

  #after(elapsed: number, tiles: number): { rate: number; trust: number } {
    const share = 1 - Math.exp(-elapsed / MEMORY);
    return {
      rate: this.#rate + share * ((Math.max(0, tiles) / elapsed) * 1000 - this.#rate),
      trust: this.#trust + share * (1 - this.#trust),
    };
  }
}
