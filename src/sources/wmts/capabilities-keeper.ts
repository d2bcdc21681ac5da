import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { readWmtsCapabilities, type WmtsCapabilities } from '../wmts-capabilities.ts';

/** They are read again behind a request that comes so long after they were read. */
const RENEW_AFTER_MS = 60 * 60 * 1000;

/**
 * Reads the capabilities when they are first needed, once for all who wait. What was read stays in use while it is
 * renewed, also when that fails.
 */
export class CapabilitiesKeeper {
  readonly #clock: Clock;
  readonly #load: () => Promise<Buffer>;
  #known: WmtsCapabilities | null = null;
  #readAt = 0;
  #reading: Promise<WmtsCapabilities> | null = null;

  constructor(clock: Clock, load: () => Promise<Buffer>) {
    this.#clock = clock;
    this.#load = load;
  }

  /** Null while they have not been read. */
  get known(): WmtsCapabilities | null {
    return this.#known;
  }

  async current(): Promise<WmtsCapabilities> {
    if (!this.#known) return await this.#read();
    if (this.#clock.monotonic() - this.#readAt > RENEW_AFTER_MS) this.#read().catch(() => undefined);
    return this.#known;
  }

  #read(): Promise<WmtsCapabilities> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<WmtsCapabilities> {
    this.#readAt = this.#clock.monotonic();
    const bytes = await this.#load();
    try {
      this.#known = readWmtsCapabilities(bytes);
      return this.#known;
    } catch (cause) {
      const message = 'The capabilities of the map source cannot be read.';
      throw new TilewardenError('source-bad-answer', message, { reason: 'capabilities', cause });
    }
  }
}
