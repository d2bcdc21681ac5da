import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  falseIfOutdated,
  isTilewardenError,
  reasonOf,
  TilewardenError,
  withUpstream,
} from '../domain/errors.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { sizeOfRect } from '../domain/tile-rect.ts';
import { hostClosedIn } from '../domain/upstream-status.ts';
import { type Clock, ifLate } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { orAborted } from '../lib/deferred.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { hideKeys } from '../lib/hide-secrets.ts';
import { Semaphore, Turnstile } from '../lib/semaphore.ts';
import { refuseImage } from '../raster/check-structure.ts';
import type { CutTile, TileCutter } from '../raster/tile-cutter.ts';
import type { SourceResult, TileSource } from '../sources/tile-source.ts';
import { validatorOf } from '../storage/read-tiles.ts';
import type { Store } from '../storage/store.ts';
import { acceptResponse, type Picture, sourceRequestOf } from './accept-answer.ts';
import type { Flight } from './flight.ts';
import { isKept } from './freshness.ts';
import type { MemoryTier } from './memory-tier.ts';
import type { RateLimitedWarning } from './rate-limited-warning.ts';
import type { PipelineSettings } from './tile-pipeline.ts';

interface MetatileMakerOptions
  extends Pick<
    PipelineSettings,
    'doubtfulBlankMs' | 'flightDeadlineMs' | 'maxFetchesPerSource' | 'maxLandings'
  > {
  readonly clock: Clock;
  readonly events: TileEvents;
  readonly cutter: TileCutter;
  readonly tier: MemoryTier;
  readonly warn: RateLimitedWarning;
  /** Whether the layer's source has failed in the last half minute. */
  readonly hasJustFailed: (layer: string) => boolean;
  readonly counters: Pick<Counters, 'count'>;
}

interface Fetched<Response = SourceResult> {
  readonly answer: Response;
  /** When the request was sent: a tile is never younger than its pixels. */
  readonly createdAt: number;
}

type Unchanged = Extract<SourceResult, { kind: 'unchanged' }>;

/** Milliseconds that clients' tiles wait to be written to their store; then they are cached in memory only. */
const MAX_STORE_WAIT_MS = 3000;

/**
 * Makes metatiles: queries their source, checks and cuts the response, hands out the tiles and stores them. Three limits
 * bound the memory: fetches per source (held until the tiles are stored, so that a fast source cannot outrun our own
 * work, and a dead one delays only itself), metatiles being cut, and metatiles being written per store. At each, clients'
 * requests come before tasks; none waits long for a silent store.
 */
export class MetatileMaker {
  readonly #options: MetatileMakerOptions;
  readonly #cuts: Semaphore;
  readonly #fetches = new WeakMap<TileSource, Semaphore>();
  readonly #writes = new WeakMap<Store, Semaphore>();
  readonly #failingStores = new WeakSet<Store>();
  /** Yields to the event loop between flights, so that a thousand concurrent refusals do not delay hits. */
  readonly #turnstile = new Turnstile();

  constructor(options: MetatileMakerOptions) {
    this.#options = options;
    this.#cuts = new Semaphore(options.maxLandings);
  }

  isFailing(store: Store): boolean {
    return this.#failingStores.has(store);
  }

  /** Returns when the tiles are stored. Rejects with the flight's failure; the caller ends the flight. */
  async make(flight: Flight): Promise<'landed' | 'confirmed'> {
    const source = flight.plan.tiles.bound.source();
    const arrived = this.#limitTime(flight);
    try {
      const work = async () => {
        await this.#turnstile.pass();
        const picture = await this.#fetchPicture(flight, source);
        flight.markFetched();
        arrived();
        if (!picture) return 'confirmed';
        await this.#land(flight, picture).catch((error: unknown) => {
          throw withUpstream(error, {
            status: statusOf(picture.answer),
            address: sourceAddress(flight, source),
          });
        });
        return 'landed';
      };
      return await this.#fetchesOf(source).during(work, flight.signal, rankOf(flight));
    } finally {
      arrived();
    }
  }

  #limitTime(flight: Flight): () => void {
    const { clock, flightDeadlineMs } = this.#options;
    const arrived = new AbortController();
    const giveUp = () => {
      const message = 'The map source did not answer in time.';
      flight.abort(new TilewardenError('source-timeout', message, { reason: 'deadline' }));
    };
    clock.sleep(flightDeadlineMs, arrived.signal).then(giveUp, () => {});
    // Without an explicit reason, abort creates a DOMException, which is expensive.
    return () => arrived.abort('arrived');
  }

  /** Null if the source confirmed the stored tiles. If some of these are gone, the metatile is fetched in full. */
  async #fetchPicture(flight: Flight, source: TileSource): Promise<Fetched<Picture> | null> {
    const validator = source.confirms ? await this.#validatorOf(flight) : null;
    for (const known of new Set([validator, null])) {
      const { answer, createdAt } = await this.#fetch(flight, source, known);
      if (answer.kind !== 'unchanged') return { answer, createdAt };
      if (await this.#confirm(flight, { answer, createdAt })) return null;
    }
    throw outdated();
  }

  #fetchesOf(source: TileSource): Semaphore {
    return getOrCreate(this.#fetches, source, () => new Semaphore(this.#options.maxFetchesPerSource));
  }

  async #fetch(flight: Flight, source: TileSource, validator: string | null): Promise<Fetched> {
    const createdAt = this.#options.clock.now();
    const request = sourceRequestOf(flight.plan, validator, flight.signal);
    try {
      const answer = await orAborted(source.fetch(request), flight.signal);
      return { answer, createdAt };
    } catch (cause) {
      if (flight.signal.aborted || hostClosedIn(cause)) throw cause;
      if (isTilewardenError(cause)) throw withUpstream(cause, { address: sourceAddress(flight, source) });
      const message = 'The map source failed in an unexpected way.';
      throw new TilewardenError('source-unavailable', message, { reason: 'unexpected', cause });
    }
  }

  /** Null, for an unconditional request, if the stored tiles have no common validator. */
  async #validatorOf({ plan }: Flight): Promise<string | null> {
    const { tiles, metatile, ticket } = plan;
    if (ticket === null) return null;
    return validatorOf(tiles.bound.store, tiles.set, metatile.z, metatile.rect).catch(() => null);
  }

  /** False if not all tiles could be confirmed, because one was removed or replaced. */
  async #confirm(flight: Flight, { answer, createdAt }: Fetched<Unchanged>): Promise<boolean> {
    const { tiles, metatile, ticket, madeBy } = flight.plan;
    if (flight.outdated || ticket === null) return false;
    const freshUntil = freshUntilOf(flight, answer.freshSeconds, createdAt);
    const edit = { type: 'confirm', createdAt, freshUntil, madeBy, ticket } as const;
    const confirming = tiles.bound.store.edit(tiles.set, metatile.z, metatile.rect, edit);
    const confirmed = await confirming.catch(falseIfOutdated);
    if (!confirmed || confirmed.tiles < sizeOfRect(metatile.rect)) return false;
    this.#options.tier.drop(tiles.set, metatile.z, metatile.rect);
    return true;
  }

  /** Cuts and stores the response. Tiles that the store refuses for now wait here (`storeAgain`), holding no other place. */
  async #land(flight: Flight, { answer, createdAt }: Fetched<Picture>): Promise<void> {
    this.#readMetadata(flight, answer, createdAt);
    await this.#cuts.during(() => this.#cut(flight, answer, createdAt), flight.signal, rankOf(flight));
    // Lets responses be sent before the tiles are stored.
    await nextTurn();
    for (;;) {
      try {
        return await this.#keep(flight);
      } catch (error) {
        if (!isTilewardenError(error, 'store-full', 'store-failed')) throw error;
        if (!(await flight.plan.storeAgain?.(error))) throw error;
      }
    }
  }

  async #cut(flight: Flight, answer: Picture, createdAt: number): Promise<void> {
    const tiles = await acceptResponse(flight.plan, answer, this.#options.cutter);
    flight.signal.throwIfAborted();
    if (isBlank(tiles)) this.#limitBlank(flight);
    this.#handOut(flight, tiles, createdAt);
  }

  #readMetadata(flight: Flight, answer: Picture, createdAt: number): void {
    if (answer.kind === 'nothing') return;
    flight.warning = answer.warning ?? null;
    if (flight.warning !== null) flight.outdated = true;
    if (answer.kind === 'pixels') this.#readParts(flight, answer);
    else flight.validator = answer.validator ?? null;
    flight.freshUntil = freshUntilOf(flight, answer.freshSeconds ?? null, createdAt);
  }

  #readParts(flight: Flight, { stale, failure }: Extract<Picture, { kind: 'pixels' }>): void {
    if (stale) flight.outdated = true;
    if (failure === undefined) return;
    flight.incomplete = true;
    this.#options.warn(
      failure,
      'a part of a layer could not be drawn; it is served without it, and not kept',
    );
  }

  /** Limits the life of a blank metatile after a failure: overloaded map servers send blank images between errors. */
  #limitBlank(flight: Flight): void {
    const { counters, clock, doubtfulBlankMs, hasJustFailed } = this.#options;
    const { layer } = flight.plan.tiles.set;
    if (!hasJustFailed(layer)) return;
    const until = clock.now() + doubtfulBlankMs;
    flight.freshUntil = Math.min(flight.freshUntil ?? until, until);
    counters.count('blanks_suspected_total', { layer });
  }

  #handOut(flight: Flight, tiles: readonly CutTile[], createdAt: number): void {
    const { freshUntil, validator, plan } = flight;
    const { z, rect } = plan.metatile;
    const { madeBy } = plan;
    const columns = rect.maxX - rect.minX + 1;
    for (const [i, { bytes, colour, checksum }] of tiles.entries()) {
      const x = rect.minX + (i % columns);
      const y = rect.minY + Math.floor(i / columns);
      // Object spread would take ten times as long.
      flight.handOut({
        z,
        x,
        y,
        bytes,
        blank: colour !== null,
        createdAt,
        checksum,
        freshUntil,
        validator,
        madeBy,
      });
    }
  }

  async #keep(flight: Flight): Promise<void> {
    const { plan } = flight;
    const { tiles, ticket } = plan;
    flight.signal.throwIfAborted();
    if (flight.warning !== null && plan.priority === 'task')
      throw refuseImage('other-value', undefined, flight.warning);
    if (flight.outdated) throw outdated();
    if (ticket === null) return this.#keepInMemory(flight);
    try {
      await this.#store(flight, ticket);
      if (this.#failingStores.delete(tiles.bound.store)) this.#storeChanged(flight, null);
    } catch (error) {
      if (!isTilewardenError(error, 'generation-stale', 'lease-lost')) this.#storeFailed(flight, error);
      throw error;
    }
    this.#keepInMemory(flight);
  }

  async #store(flight: Flight, ticket: number): Promise<void> {
    const { tiles, metatile, lease = null } = flight.plan;
    const { z, rect } = metatile;
    const { store } = tiles.bound;
    const release = await this.#turnToWrite(store, flight);
    const change = await store.put(tiles.set, z, flight.madeTiles(), ticket, lease).finally(release);
    const at = this.#options.clock.now();
    const { set, selection } = tiles;
    this.#options.events.emit({ type: 'stored', set, parameters: selection.values, z, rect, ...change, at });
  }

  /** Waits for a turn to write to the store. For a client's flight, throws `store-failed` if that takes too long. */
  async #turnToWrite(store: Store, flight: Flight): Promise<() => void> {
    const { clock, maxLandings } = this.#options;
    const writes = getOrCreate(this.#writes, store, () => new Semaphore(maxLandings));
    const rank = rankOf(flight);
    if (rank === 0 || writes.inUse < maxLandings) return writes.acquire(flight.signal, rank);
    const late = new AbortController();
    const giveUp = () => late.abort(new TilewardenError('store-failed', 'The tile store is silent.'));
    const signal = AbortSignal.any([flight.signal, late.signal]);
    return ifLate(clock, MAX_STORE_WAIT_MS, giveUp, () => writes.acquire(signal, rank));
  }

  #storeFailed(flight: Flight, error: unknown): void {
    const { store } = flight.plan.tiles.bound;
    // The store itself reports a full disk.
    if (!this.isFailing(store) && !isTilewardenError(error, 'store-full')) this.#storeChanged(flight, error);
    this.#failingStores.add(store);
    this.#options.warn(error, 'tiles could not be stored; they are served without being kept on disk');
    this.#keepInMemory(flight);
  }

  #storeChanged({ plan }: Flight, error: unknown): void {
    const store = plan.tiles.bound.declared?.store ?? '';
    const failure = error === null ? null : reasonOf(error);
    this.#options.events.emit({ type: 'store-state', store, failure, at: this.#options.clock.now() });
  }

  /** Caches the requested tiles, and of the others only those already in memory. */
  #keepInMemory(flight: Flight): void {
    const { tier } = this.#options;
    const { tiles, metatile } = flight.plan;
    const copies = flight.madeTiles().filter((tile) => flight.isRequested(tile) || tier.has(tiles.set, tile));
    tier.drop(tiles.set, metatile.z, metatile.rect);
    if (flight.outdated || flight.overtaken || !isKept(tiles, metatile.z)) return;
    for (const tile of copies) tier.put(tiles.set, tile, tile);
  }
}

/** Whether all tiles are of the same single colour. */
function isBlank([first, ...others]: readonly CutTile[]): boolean {
  const colour = first?.colour ?? null;
  return colour !== null && others.every((tile) => tile.colour === colour);
}

/** An encoded picture came with status 200. */
function statusOf(answer: Picture): number | null {
  return answer.kind === 'encoded' ? 200 : null;
}

/** The address of the request, without keys, for callers with a role. */
function sourceAddress({ plan, signal }: Flight, source: TileSource): string | null {
  const address = source.addressOf?.(sourceRequestOf(plan, null, signal));
  return address === undefined ? null : String(hideKeys(address));
}

function freshUntilOf({ plan }: Flight, freshSeconds: number | null, createdAt: number): number | null {
  const followed = plan.tiles.bound.layer.followSource && freshSeconds !== null;
  return followed ? createdAt + freshSeconds * 1000 : null;
}

function rankOf(flight: Flight): number {
  return flight.plan.priority === 'interactive' ? 1 : 0;
}

function outdated(): TilewardenError {
  return new TilewardenError('generation-stale', 'The tiles were fetched before newer ones replaced them.');
}
