import { TilewardenError } from '../domain/errors.ts';
import type { Counters } from '../lib/counters.ts';
import { Turnstile } from '../lib/semaphore.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { ResolvedTileSet } from './tile-pipeline.ts';

const BUSY_RETRY_SECONDS = 5;

/**
 * Limits the reads that wait for sources. A source may have as many as there are free places left: a single slow source
 * gets half of all, several get equal shares, and some places stay free for the others.
 */
export class WaitingReads {
  readonly #most: number;
  readonly #counters: Pick<Counters, 'count'>;
  readonly #bySource = new WeakMap<TileSource, number>();
  /** Yields to the event loop between reads that have to wait, so that hits are served in between. */
  readonly #turnstile = new Turnstile();
  #count = 0;

  constructor(most: number, counters: Pick<Counters, 'count'>) {
    this.#most = most;
    this.#counters = counters;
  }

  get count(): number {
    return this.#count;
  }

  /** Runs the work as a waiting read. Throws `source-busy` if the source has its maximum. */
  async during<Result>({ bound, set }: ResolvedTileSet, work: () => Promise<Result>): Promise<Result> {
    const source = bound.source();
    if (this.#of(source) >= this.#most - this.#count) {
      this.#counters.count('reads_refused_total', { layer: set.layer });
      throw busy(`Too many requests are waiting for tiles of layer ${set.layer}.`);
    }
    this.#add(source, 1);
    try {
      await this.#turnstile.pass();
      return await work();
    } finally {
      this.#add(source, -1);
    }
  }

  #of(source: TileSource): number {
    return this.#bySource.get(source) ?? 0;
  }

  #add(source: TileSource, change: number): void {
    this.#count += change;
    this.#bySource.set(source, this.#of(source) + change);
  }
}

export function busy(message: string): TilewardenError {
  return new TilewardenError('source-busy', message, { retryAfterSeconds: BUSY_RETRY_SECONDS });
}
