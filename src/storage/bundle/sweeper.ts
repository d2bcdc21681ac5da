import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { BundleLayout } from './bundle-layout.ts';
import { removeAbandoned, sweepTrash } from './trash.ts';

/** Gives the space of dropped tiles back behind everybody's back, one sweep at a time. */
export class Sweeper {
  readonly #layout: BundleLayout;
  readonly #bytesPerSecond: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #sweep: Promise<void> | null = null;
  #again = false;

  constructor(layout: BundleLayout, bytesPerSecond: number, clock: Clock, log: Logger) {
    this.#layout = layout;
    this.#bytesPerSecond = bytesPerSecond;
    this.#clock = clock;
    this.#log = log;
  }

  /** There may be something to sweep. */
  wake(): void {
    this.#again = true;
    this.#sweep ??= this.#run().finally(() => {
      this.#sweep = null;
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#sweep;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      while (this.#again && !signal.aborted) {
        this.#again = false;
        await removeAbandoned(this.#layout.making, this.#clock);
        await sweepTrash(this.#layout.trash, this.#bytesPerSecond, this.#clock, signal);
      }
    } catch (error) {
      if (!signal.aborted)
        this.#log.warn({ err: error }, 'could not sweep dropped tiles; the next drop tries again');
    }
  }
}
