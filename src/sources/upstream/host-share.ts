import type { ShareWish } from '../../domain/upstream-status.ts';
import type { Env } from '../../lib/env.ts';
import type { UpstreamOptions } from './upstream-options.ts';

/** Divides a number of places among nodes, so that their sum never exceeds the limit. */
export interface HostShares {
  /** Requests `wanted` places; returns how many this node may use now. It keeps those `held` until their requests end. */
  renew(name: string, wish: ShareWish): Promise<Share>;
  /** Calls `changed` when places may be free, or wanted by other nodes. A notification may be lost. */
  listen(changed: () => void): () => void;
}

export interface Share {
  readonly places: number;
  /** No other node has or wants a share. */
  readonly alone: boolean;
}

interface HostShareOptions extends Env {
  readonly host: string;
  /** With a rate limit, more places are used only when requests that other nodes sent with them no longer count. */
  readonly limits: () => Pick<UpstreamOptions, 'concurrency' | 'ratePerSecond'>;
  readonly shares: HostShares;
  /** Requests in flight; `wanted` includes those that wait. */
  readonly held: () => number;
  readonly wanted: () => number;
  /** Wanted requests with a waiting client. */
  readonly urgent: () => number;
  readonly changed: () => void;
}

/** Between renewals; the second while this node has no place. */
const INTERVAL_MS = 1000;
const STARVED_INTERVAL_MS = 200;
/** Shortest interval: requests that come in the meantime are one wish. */
const MIN_INTERVAL_MS = 10;
/** A share that has not been renewed for this long may have been given to others. */
const VALID_MS = 10_000;
const TIMEOUT_MS = 2000;
/** How long an unused share is kept for the next request. */
const IDLE_MS = 3000;
/** After this time a request of another node no longer counts as one of the last second: see `RateWindow`. */
const OTHERS_SECOND_MS = 1500;
/** Without the database, one request per host at a time. */
const PLACES_WITHOUT_DATABASE = 1;

const NOTHING = { wanted: 0, urgent: 0, held: 0 };

/**
 * This node's share of the concurrent requests that all nodes together may send to a host. While there are requests it is
 * renewed each second, and earlier if it is too small or other nodes want places; without requests it is given back. A
 * share that is not renewed expires, so that the places of a dead node become free.
 */
export class HostShare {
  readonly #options: HostShareOptions;
  readonly #ending = new AbortController();
  /** Ends the pause before the next renewal. */
  #nudge = new AbortController();
  /** Wish of the latest renewal. */
  #wish = NOTHING;
  /** When the wish was last lowered to the current need. */
  #wishedAt = Number.NEGATIVE_INFINITY;
  #alone = false;
  #places = 0;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** Renewals in a row that failed. */
  #failures = 0;
  #running: Promise<void> | null = null;

  constructor(options: HostShareOptions) {
    this.#options = options;
  }

  get places(): number {
    const { clock } = this.#options;
    if (clock.monotonic() - this.#renewedAt < VALID_MS) return this.#places;
    return this.#failures > 0 ? PLACES_WITHOUT_DATABASE : 0;
  }

  want(): void {
    if (this.#ending.signal.aborted) return;
    if (this.#wantsMore()) this.#nudge.abort();
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      // A request may have arrived while the share was given back.
      if (this.#options.wanted() > 0) this.want();
    });
  }

  /** A request has ended: its place may belong to another node now. */
  ended(): void {
    if (this.#wish.held > this.#places) this.#nudge.abort();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, shares, held, wanted } = this.#options;
    const { signal } = this.#ending;
    const stopListening = shares.listen(() => this.#nudge.abort());
    let neededAt = clock.monotonic();
    while (!signal.aborted && clock.monotonic() - neededAt < IDLE_MS) {
      this.#nudge = new AbortController();
      await this.#renew();
      if (this.#wantsMore()) this.#nudge.abort();
      await clock.sleep(MIN_INTERVAL_MS, signal).catch(() => {});
      const pause = this.places === 0 ? STARVED_INTERVAL_MS : INTERVAL_MS;
      await clock.sleep(pause, AbortSignal.any([signal, this.#nudge.signal])).catch(() => {});
      if (wanted() > 0 || held() > 0) neededAt = clock.monotonic();
    }
    stopListening();
    await this.#giveBack();
  }

  /** Whether another renewal now may bring more places: the last wish was granted, or clients are waiting. */
  #wantsMore(): boolean {
    const { wanted, urgent, held } = this.#options;
    if (held() < this.places) return false;
    return (
      urgent() > this.#wish.urgent || (wanted() > this.#wish.wanted && this.#wish.wanted <= this.#places)
    );
  }

  async #renew(): Promise<void> {
    const { shares, host, clock, log } = this.#options;
    const begun = clock.monotonic();
    try {
      const wish = this.#wishNow();
      this.#wish = wish;
      const share = await this.#inTime(shares.renew(host, wish));
      await this.#awaitOthers(share);
      [this.#places, this.#renewedAt, this.#alone] = [share.places, begun, share.alone];
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      // One late answer is normal on a busy machine.
      if (this.#failures === 2)
        log.warn(
          { err: error, upstream: host },
          'the share of a host cannot be read; this node sends it one request at a time',
        );
    }
    this.#options.changed();
  }

  /** Holds a need for a second, since requests come and go; that of clients only while no other node has a need. */
  #wishNow(): ShareWish {
    const { limits, held, wanted, urgent, clock } = this.#options;
    const { concurrency: limit, ratePerSecond } = limits();
    const isNew = clock.monotonic() - this.#wishedAt >= INTERVAL_MS;
    if (isNew) this.#wishedAt = clock.monotonic();
    const before = isNew ? NOTHING : this.#wish;
    const people = this.#alone ? Math.max(urgent(), before.urgent) : urgent();
    const need = people + Math.max(wanted() - urgent(), before.wanted - before.urgent);
    return {
      limit,
      // The rate is divided like the places: a node that needs any would be slowed down by a small part of them.
      wanted: ratePerSecond !== null && need > 0 ? limit : Math.min(limit, need),
      urgent: Math.min(limit, people),
      spare: 1,
      held: held(),
    };
  }

  /** Fails if the database does not respond soon: a client is waiting for a tile. */
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
    await clock.sleep(OTHERS_SECOND_MS, this.#ending.signal).catch(() => {});
  }

  async #giveBack(): Promise<void> {
    const { shares, host, limits, held, log } = this.#options;
    [this.#places, this.#renewedAt] = [0, Number.NEGATIVE_INFINITY];
    await shares
      .renew(host, { limit: limits().concurrency, wanted: 0, urgent: 0, spare: 0, held: held() })
      .catch((error: unknown) => {
        log.warn(
          { err: error, upstream: host },
          'the share of a host could not be released; it expires by itself',
        );
      });
  }
}
