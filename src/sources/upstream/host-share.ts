import type { Env } from '../../lib/env.ts';
import type { UpstreamOptions } from './upstream-options-for.ts';

/** Divides a number of places among the nodes that want some, so that their sum is never above the limit. */
export interface HostShares {
  /** Requests `wanted` places; returns how many this node may use now. It keeps those `held` until their requests end. */
  renew(name: string, wish: ShareWish): Promise<Share>;
}

export interface ShareWish {
  readonly limit: number;
  readonly wanted: number;
  readonly held: number;
}

export interface Share {
  readonly places: number;
  /** No other node has or wants a share. */
  readonly alone: boolean;
}

interface HostShareOptions extends Env {
  readonly host: string;
  /** With a rate limit, requests that other nodes sent within the last second count too. */
  readonly limits: () => Pick<UpstreamOptions, 'concurrency' | 'ratePerSecond'>;
  readonly shares: HostShares;
  /** Requests under way, and with those that wait. */
  readonly held: () => number;
  readonly wanted: () => number;
  readonly changed: () => void;
}

/** Milliseconds between renewals, and while there is not a single place. */
const INTERVAL = 1000;
const STARVED_INTERVAL = 200;
/** A share that has not been renewed for this long may have been given to others. */
const VALID_FOR = 10_000;
const TIMEOUT_MS = 2000;
/** An unused share is kept for a moment, for the next request. */
const KEPT_FOR = 3000;
/** The longest second of others, see `RateWindow`. */
const SECOND_OF_OTHERS = 1500;
/** Without the database, one request per host at a time. */
const PLACES_WITHOUT_DATABASE = 1;

/** How many requests to a host this node may have under way, of those that all nodes together may. */
export class HostShare {
  readonly #options: HostShareOptions;
  readonly #ending = new AbortController();
  #places = 0;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #failing = false;
  #running: Promise<void> | null = null;

  constructor(options: HostShareOptions) {
    this.#options = options;
  }

  get places(): number {
    const { clock } = this.#options;
    if (clock.monotonic() - this.#renewedAt < VALID_FOR) return this.#places;
    return this.#failing ? PLACES_WITHOUT_DATABASE : 0;
  }

  want(): void {
    if (this.#ending.signal.aborted) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      // A request may have arrived while the share was given back.
      if (this.#options.wanted() > 0) this.want();
    });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, held, wanted } = this.#options;
    const { signal } = this.#ending;
    let neededAt = clock.monotonic();
    while (!signal.aborted && clock.monotonic() - neededAt < KEPT_FOR) {
      if (wanted() > 0 || held() > 0) neededAt = clock.monotonic();
      await this.#renew();
      await clock.sleep(this.places === 0 ? STARVED_INTERVAL : INTERVAL, signal).catch(() => {});
    }
    await this.#giveBack();
  }

  async #renew(): Promise<void> {
    const { shares, host, limits, held, wanted, clock, log } = this.#options;
    const begun = clock.monotonic();
    try {
      const { concurrency: limit } = limits();
      const wish = { limit, wanted: Math.min(limit, Math.max(1, wanted())), held: held() };
      const share = await this.#inTime(shares.renew(host, wish));
      await this.#awaitOthers(share);
      [this.#places, this.#renewedAt] = [share.places, begun];
      this.#failing = false;
    } catch (error) {
      if (!this.#failing)
        log.warn(
          { err: error, upstream: host },
          'the share of a host cannot be read; this node sends it one request at a time',
        );
      this.#failing = true;
    }
    this.#options.changed();
  }

  /** A database that does not answer is ignored: a client waits for a tile. */
  async #inTime(renewal: Promise<Share>): Promise<Share> {
    const done = new AbortController();
    const late = this.#options.clock.sleep(TIMEOUT_MS, done.signal).then((): never => {
      throw new Error(`The database has not answered within ${TIMEOUT_MS} ms.`);
    });
    late.catch(() => {});
    return Promise.race([renewal, late]).finally(() => done.abort());
  }

  async #awaitOthers({ places, alone }: Share): Promise<void> {
    const { limits, clock } = this.#options;
    if (alone || limits().ratePerSecond === null || places <= this.#places) return;
    await clock.sleep(SECOND_OF_OTHERS, this.#ending.signal).catch(() => {});
  }

  async #giveBack(): Promise<void> {
    const { shares, host, limits, held, log } = this.#options;
    [this.#places, this.#renewedAt] = [0, Number.NEGATIVE_INFINITY];
    await shares
      .renew(host, { limit: limits().concurrency, wanted: 0, held: held() })
      .catch((error: unknown) => {
        log.warn(
          { err: error, upstream: host },
          'the share of a host could not be released; it expires by itself',
        );
      });
  }
}
