import type { Clock } from '../lib/clock.ts';
import { jitter, type Random } from '../lib/random.ts';

export interface NegativeMemoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds, spread by a fifth so that what failed together is not asked again together. */
  readonly ttlMs: number;
}

interface Failure {
  readonly layer: string;
  readonly error: unknown;
  /** On the monotonic clock. */
  readonly until: number;
}

const MAX_FAILURES = 10_000;
const SPREAD = 0.2;

/** Failures that are answered again for a moment instead of asking the source again. */
export class NegativeMemory {
  readonly #options: NegativeMemoryOptions;
  readonly #failures = new Map<string, Failure>();

  constructor(options: NegativeMemoryOptions) {
    this.#options = options;
  }

  find(key: string): { readonly error: unknown } | null {
    const failure = this.#failures.get(key);
    if (!failure) return null;
    if (failure.until > this.#options.clock.monotonic()) return failure;
    this.#failures.delete(key);
    return null;
  }

  remember(key: string, layer: string, error: unknown): void {
    const { clock, random, ttlMs } = this.#options;
    if (ttlMs <= 0) return;
    this.#failures.delete(key);
    this.#failures.set(key, { layer, error, until: clock.monotonic() + jitter(ttlMs, SPREAD, random) });
    this.#dropOld();
  }

  forgetLayer(layer: string): void {
    for (const [key, failure] of this.#failures) if (failure.layer === layer) this.#failures.delete(key);
  }

  /** The oldest come first, and nearly so by their end too: what stays behind is bounded all the same. */
  #dropOld(): void {
    const now = this.#options.clock.monotonic();
    for (const [key, failure] of this.#failures) {
      if (failure.until > now && this.#failures.size <= MAX_FAILURES) return;
      this.#failures.delete(key);
    }
  }
}
