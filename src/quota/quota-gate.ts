import { TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import type { TileStore } from '../storage/tile-store.ts';
import { type Credit, creditLeft, EVERYTHING, type QuotaCredit, scopeOfLayer } from './quota-credit.ts';

export interface QuotaGateOptions extends Env {
  readonly credit: QuotaCredit;
  /** Milliseconds that a write waits for room before it is `store-full`. */
  readonly maxWaitMs: number;
  /** Whether clients wait for these writes. */
  readonly withReserve: boolean;
}

/** Milliseconds between reads of the credit during writes. */
const LOOK_INTERVAL = 250;
/** Milliseconds between looks while a write waits. */
const WAIT_INTERVAL = 25;
/** Bytes taken at a time: a share of the rest, within these bounds. */
const SHARE = 1 / 16;
const MIN_BYTES = 512 * 1024;
const MAX_BYTES = 64 * 1024 ** 2;
/** Bytes left below which no more than so many bytes are on their way to the store. */
const SCARCE = 64 * 1024 ** 2;
const ON_THE_WAY = 2 * 1024 ** 2;
/** Bytes that a tile takes on disk for each of its own, and beside them: rather too much than too little. */
const OVERHEAD = 1.08;
const OVERHEAD_OF_A_TILE = 32;

/**
 * Holds writers back when they are about to pass a quota faster than it can be enforced. Bytes are taken from the
 * shared credit some at a time, so that a tile's write costs nothing; while no quota is in force, nothing is queried.
 */
export class QuotaGate {
  readonly #options: QuotaGateOptions;
  readonly #stopping = new AbortController();
  readonly #balances = new Map<string, number>();
  #credits: ReadonlyMap<string, Credit> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;
  #filling: Promise<void> | null = null;
  #waiting: Promise<void> | null = null;
  /** Bytes that passed the gate and are in no store yet, where they could be counted. */
  #onTheWay = 0;

  constructor(options: QuotaGateOptions) {
    this.#options = options;
  }

  /** The same store, whose writes wait here. */
  guard(store: TileStore): TileStore {
    const put: TileStore['put'] = async (set, z, tiles, ticket, lease) => {
      const bytes = tiles.reduce((sum, tile) => sum + tile.bytes.length * OVERHEAD + OVERHEAD_OF_A_TILE, 0);
      await this.#admit(set.layer, bytes);
      this.#onTheWay += bytes;
      try {
        return await store.put(set, z, tiles, ticket, lease);
      } finally {
        this.#onTheWay -= bytes;
      }
    };
    return { ...store, put, putMany: put };
  }

  /** Those who wait are refused. */
  close(): void {
    this.#stopping.abort();
  }

  async #admit(layer: string, bytes: number): Promise<void> {
    const { clock, maxWaitMs } = this.#options;
    const deadline = clock.monotonic() + maxWaitMs;
    await this.#lookIfDue(LOOK_INTERVAL);
    for (;;) {
      const scopes = [EVERYTHING, scopeOfLayer(layer)].filter((scope) => this.#credits.has(scope));
      if (this.#mayPass(scopes)) {
        for (const scope of scopes) this.#balances.set(scope, this.#balanceOf(scope) - bytes);
        return;
      }
      if (await this.#fill(scopes)) continue;
      if (this.#stopping.signal.aborted || clock.monotonic() > deadline) throw full();
      await this.#wait();
    }
  }

  #mayPass(scopes: readonly string[]): boolean {
    const scarce = scopes.some((scope) => this.#left(scope) < SCARCE);
    if (scarce && this.#onTheWay > ON_THE_WAY) return false;
    return scopes.every((scope) => this.#balanceOf(scope) > 0);
  }

  /** All who wait look together. */
  async #wait(): Promise<void> {
    const { clock } = this.#options;
    this.#waiting ??= clock
      .sleep(WAIT_INTERVAL, this.#stopping.signal)
      .catch(() => undefined)
      .then(() => this.#lookIfDue(WAIT_INTERVAL))
      .finally(() => {
        this.#waiting = null;
      });
    await this.#waiting;
  }

  #balanceOf(scope: string): number {
    return this.#balances.get(scope) ?? 0;
  }

  async #lookIfDue(interval: number): Promise<void> {
    const now = this.#options.clock.monotonic();
    if (now - this.#lookedAt >= interval) {
      this.#looking ??= this.#attempt(this.#look()).finally(() => {
        this.#looking = null;
      });
    }
    await this.#looking;
  }

  /** A failed query is repeated by the next write, or by one that waits. */
  async #attempt(work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) => {
      this.#lookedAt = this.#options.clock.monotonic();
      this.#options.log.warn({ err: error }, 'the remaining disk quota could not be read');
    });
  }

  async #look(): Promise<void> {
    const credits = await this.#options.credit.read();
    this.#credits = new Map(credits.map((credit) => [credit.scope, credit]));
    this.#lookedAt = this.#options.clock.monotonic();
    for (const [scope, balance] of this.#balances) {
      const credit = this.#credits.get(scope);
      if (!credit) this.#balances.delete(scope);
      // Credit taken when there was plenty is not kept for when there is little.
      if (credit) this.#balances.set(scope, Math.min(balance, this.#portionOf(credit)));
    }
  }

  /** Whether credit is available. One refill at a time, shared by all waiting writes. */
  async #fill(scopes: readonly string[]): Promise<boolean> {
    if (this.#filling) {
      await this.#filling;
      return true;
    }
    const empty = scopes.filter((scope) => this.#balanceOf(scope) <= 0);
    if (empty.length === 0 || empty.some((scope) => this.#left(scope) === 0)) return false;
    this.#filling = this.#attempt(this.#take(empty)).finally(() => {
      this.#filling = null;
    });
    await this.#filling;
    return empty.every((scope) => this.#balanceOf(scope) > 0);
  }

  async #take(scopes: readonly string[]): Promise<void> {
    const { credit, withReserve } = this.#options;
    for (const scope of scopes) {
      const known = this.#credits.get(scope);
      if (!known) continue;
      const debt = Math.max(0, -this.#balanceOf(scope));
      const granted = await credit.take(scope, Math.ceil(debt + this.#portionOf(known)), withReserve);
      this.#balances.set(scope, this.#balanceOf(scope) + granted);
    }
    await this.#look();
  }

  #left(scope: string): number {
    const credit = this.#credits.get(scope);
    return credit ? creditLeft(credit, this.#options.withReserve) : Number.POSITIVE_INFINITY;
  }

  #portionOf(credit: Credit): number {
    return Math.min(MAX_BYTES, Math.max(MIN_BYTES, creditLeft(credit, false) * SHARE));
  }
}

function full(): TilewardenError {
  return new TilewardenError('store-full', 'The disk quota is used up; tiles are removed to make room.');
}
