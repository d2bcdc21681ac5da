import type { TileSource } from '../sources/tile-source.ts';

/**
 * Counts reads that wait for a source. A source may have as many as there are free places left: one slow source takes half
 * of them, several take equal shares, and a source without waiting reads always finds some free.
 */
export class WaitingReads {
  readonly #most: number;
  readonly #bySource = new WeakMap<TileSource, number>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** What is to be called when the wait is over; null when the source may have no more. */
  enter(source: TileSource): (() => void) | null {
    if (this.#of(source) >= this.#most - this.#count) return null;
    this.#add(source, 1);
    return () => this.#add(source, -1);
  }

  #of(source: TileSource): number {
    return this.#bySource.get(source) ?? 0;
  }

  #add(source: TileSource, change: number): void {
    this.#count += change;
    this.#bySource.set(source, this.#of(source) + change);
  }
}
