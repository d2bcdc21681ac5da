import type { Clock } from '../lib/clock.ts';

export interface Pace {
  readonly tilesPerSecond: number;
  /** −1 while it cannot be told. */
  readonly secondsRemaining: number;
}

/** Milliseconds after which an observation has lost two thirds of its weight. */
const MEMORY = 10_000;
/** Observations closer together than this say more about reporting than about work. */
const SHORTEST = 200;
/** Tiles per second; below it nothing moves. */
const STANDSTILL = 1e-6;
const STANDING: Pace = { tilesPerSecond: 0, secondsRemaining: -1 };

/** How fast a task goes, smoothed, by what has been seen of it. Durations come from the monotonic clock. */
export class RateMeter {
  readonly #clock: Clock;
  #processed: bigint;
  #at: number;
  #rate = 0;
  /** Rises to 1: how much of `#rate` rests on observations. */
  #trust = 0;

  constructor(clock: Clock, processed: bigint) {
    this.#clock = clock;
    this.#processed = processed;
    this.#at = clock.monotonic();
  }

  observe(processed: bigint): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#at;
    if (elapsed < SHORTEST) return;
    const { rate, trust } = this.#after(elapsed, Number(processed - this.#processed));
    this.#rate = rate;
    this.#trust = trust;
    this.#processed = processed;
    this.#at = now;
  }

  pace(remaining: bigint): Pace {
    const idle = this.#clock.monotonic() - this.#at;
    const { rate, trust } =
      idle > MEMORY / 2 ? this.#after(idle, 0) : { rate: this.#rate, trust: this.#trust };
    const tilesPerSecond = trust > 0 ? rate / trust : 0;
    if (tilesPerSecond < STANDSTILL) return STANDING;
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
