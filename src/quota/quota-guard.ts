import { TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';
import type { Store } from '../storage/store.ts';
import type { QuotaSettings } from './quota-configuration.ts';
import { scopesOf, writersLimit } from './quota-scopes.ts';
import { readUsedBytes } from './usage-report.ts';

export interface QuotaGuardOptions extends Env {
  readonly settings: Pick<QuotaSettings, 'read'>;
  /** The stores whose tiles count. */
  readonly stores: ReadonlyMap<string, Pick<Store, 'usage'>>;
  /** Milliseconds that a write waits for room before it is `store-full`. */
  readonly maxWaitMs: number;
  /** Whether clients wait for these writes: they may use a reserve above the limit of other writers. */
  readonly withReserve: boolean;
}

/** Bytes that may be added to what a quota limits, and those of them that this process has admitted since. */
interface Room {
  readonly layer: string | null;
  readonly bytes: number;
  admitted: number;
}

/** Milliseconds for which a measurement of the room is used. */
const MEASURE_INTERVAL = 250;
/** Milliseconds between measurements while a write waits. */
const WAIT_INTERVAL = 25;
/** Bytes that each process may add before it measures again: a share of the room, within these bounds. */
const SHARE = 1 / 64;
const MIN_BYTES = 1024 ** 2;
const MAX_BYTES = 64 * 1024 ** 2;

/**
 * Delays writers that are about to exceed a quota faster than it can be enforced. Each process measures the usage of
 * the stores itself, more often the less room there is. While no quota is in force, only the configuration is read.
 */
export class QuotaGuard {
  readonly #options: QuotaGuardOptions;
  readonly #stopping = new AbortController();
  #rooms: readonly Room[] = [];
  #measuredAt = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | null = null;
  #waiting: Promise<void> | null = null;
  /** Ends a wait early: a write has landed, so that a measurement sees it. */
  #landed = new AbortController();
  /** Bytes that were admitted and that a measurement may not see yet, by layer; null: all. */
  readonly #onTheWay = new Map<string | null, number>();

  constructor(options: QuotaGuardOptions) {
    this.#options = options;
  }

  /** The same store, whose writes wait while a quota has no room. */
  guard<S extends Pick<Store, 'put'>>(store: S): S {
    return {
      ...store,
      put: async (...parameters: Parameters<Store['put']>) => {
        const [set, , tiles] = parameters;
        const bytes = tiles.reduce((sum, tile) => sum + tile.bytes.length, 0);
        await this.#admit(set.layer, bytes);
        try {
          return await store.put(...parameters);
        } finally {
          this.#addOnTheWay(set.layer, -bytes);
          this.#landed.abort();
        }
      },
    };
  }

  /** Refuses waiting writers. */
  close(): void {
    this.#stopping.abort();
  }

  async #admit(layer: string, bytes: number): Promise<void> {
    const { clock, maxWaitMs } = this.#options;
    const deadline = clock.monotonic() + maxWaitMs;
    await this.#measureAfter(MEASURE_INTERVAL);
    for (let isMeasured = false; ; isMeasured = true) {
      const rooms = this.#rooms.filter((room) => room.layer === null || room.layer === layer);
      if (rooms.every(hasPortion)) {
        for (const room of rooms) room.admitted += bytes;
        this.#addOnTheWay(layer, bytes);
        return;
      }
      if (isMeasured) {
        if (this.#stopping.signal.aborted || clock.monotonic() > deadline) throw full();
        await this.#wait();
      } else await this.#measureAfter(0);
    }
  }

  /** All waiting writers share a measurement. */
  async #wait(): Promise<void> {
    this.#waiting ??= this.#waitNow().finally(() => {
      this.#waiting = null;
    });
    await this.#waiting;
  }

  async #waitNow(): Promise<void> {
    this.#landed = new AbortController();
    const either = AbortSignal.any([this.#stopping.signal, this.#landed.signal]);
    await this.#options.clock.sleep(WAIT_INTERVAL, either).catch(() => undefined);
    await this.#measureAfter(0);
  }

  async #measureAfter(interval: number): Promise<void> {
    const { clock, log } = this.#options;
    if (clock.monotonic() - this.#measuredAt >= interval) {
      this.#measuring ??= this.#measure()
        .catch((error: unknown) => log.warn({ err: error }, 'the remaining disk quota could not be read'))
        .finally(() => {
          this.#measuring = null;
          this.#measuredAt = clock.monotonic();
        });
    }
    await this.#measuring;
  }

  /** Writes under way count as admitted: they may be in the usage too, and count twice rather than never. */
  async #measure(): Promise<void> {
    const { settings, stores, withReserve } = this.#options;
    const scopes = scopesOf(await settings.read());
    const admitted = new Map(this.#onTheWay);
    const used = scopes.length === 0 ? () => 0 : await readUsedBytes(stores);
    this.#rooms = scopes.map(({ layer, limit }) => ({
      layer,
      bytes: writersLimit({ limit }, withReserve) - used(layer),
      admitted: admitted.get(layer) ?? 0,
    }));
  }

  #addOnTheWay(layer: string, bytes: number): void {
    for (const scope of [layer, null]) this.#onTheWay.set(scope, (this.#onTheWay.get(scope) ?? 0) + bytes);
  }
}

function hasPortion({ bytes, admitted }: Room): boolean {
  return bytes > 0 && admitted < Math.min(MAX_BYTES, Math.max(MIN_BYTES, bytes * SHARE));
}

function full(): TilewardenError {
  return new TilewardenError('store-full', 'The disk quota is used up; tiles are removed to make room.');
}
