import {
  isSourceFailure,
  isTilewardenError,
  reasonOf,
  refusesCaller,
  TilewardenError,
} from '../domain/errors.ts';
import type { Metatile } from '../domain/metatile.ts';
import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import { intersectRects } from '../domain/tile-rect.ts';
import { hostClosedIn } from '../domain/upstream-status.ts';
import type { Clock } from '../lib/clock.ts';
import type { Counters } from '../lib/counters.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { jitter, type Random } from '../lib/random.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { TileChange } from '../storage/store.ts';
import { Flight, type FlightPlan } from './flight.ts';
import type { MetatileMaker } from './metatile-maker.ts';
import type { RateLimitedWarning } from './rate-limited-warning.ts';

interface FlightsOptions {
  readonly maker: Pick<MetatileMaker, 'make'>;
  readonly failures: NegativeMemory;
  readonly counters: Pick<Counters, 'count'>;
  readonly warn: RateLimitedWarning;
  readonly onFailure: FailureListener;
  /** Absent on a single node. */
  readonly claims?: FlightClaims | undefined;
}

/** Lets only one node at a time make a metatile for clients. It saves work; the result is right without it. */
export interface FlightClaims {
  /** Returns a function that releases the claim; null: another node has it. If it throws, this node makes the tiles too. */
  take(metatile: string): Promise<(() => void) | null>;
  pause(signal: AbortSignal): Promise<void>; // Before the next attempt.
}

/** Attempts to claim a metatile, after which this node makes it too. */
const MAX_CLAIMS = 60;

export type KnownChange = Exclude<TileChange, { kind: 'everything' }>;

/** Called with every error that ends a flight early, expected or not. */
export type FailureListener = (layer: string, error: unknown) => void;

/** All flights of a process: starts them, finds those to join, and repeats their failures for a moment. */
export class Flights {
  readonly #options: FlightsOptions;
  /** Flights that may be joined, by layer and metatile; at most one for each metatile. */
  readonly #open = new Map<string, Map<string, Flight>>();
  readonly #flying = new Map<Flight, Promise<void>>();
  #started = 0;
  #closing = false;

  constructor(options: FlightsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#flying.size;
  }

  /** Count of flights started so far: the `number` of a later flight is greater. */
  get started(): number {
    return this.#started;
  }

  /** A flight to join: with a ticket not before this generation, and a `number` above `after`. */
  find(set: TileSetKey, metatile: Metatile, generation: number | null, after = 0): Flight | null {
    const flight = this.#open.get(set.layer)?.get(flightKey(set, metatile));
    if (!flight || flight.plan.number <= after) return null;
    const { ticket } = flight.plan;
    if (generation !== null && (ticket === null || ticket < generation)) return null;
    this.#options.counters.count('flights_joined_total', { layer: set.layer });
    return flight;
  }

  /** Throws the error of the metatile's latest failed flight, for a moment. */
  refuseIfFailing(set: TileSetKey, metatile: Metatile): void {
    const failure = this.#options.failures.find(flightKey(set, metatile));
    if (!failure) return;
    const labels = { layer: set.layer, reason: reasonOf(failure.error) };
    this.#options.counters.count('failures_repeated_total', labels);
    throw failure.error;
  }

  /** `isThere` is called before the source is queried; if it returns true, the flight ends as `turned-back`. */
  start(plan: Omit<FlightPlan, 'number'>, isThere: () => Promise<boolean>): Flight {
    if (this.#closing) throw stopping();
    const flight = new Flight({ ...plan, number: ++this.#started });
    flight.onAbandoned = () => this.#abandon(flight);
    if (!isOfOneCaller(flight)) this.#add(flight);
    this.#options.counters.count('flights_started_total', { layer: plan.tiles.set.layer });
    this.#flying.set(flight, this.#fly(flight, isThere));
    return flight;
  }

  /** No caller joins these flights any more, and their tiles are not cached; see `TilePipeline.forget`. */
  outdate(change: KnownChange): void {
    const layer = change.kind === 'tiles' ? change.set.layer : change.layer;
    for (const flight of this.#open.get(layer)?.values() ?? []) {
      if (concerns(change, flight)) this.#outdate(flight);
    }
  }

  /** Memory does not cache the tiles of these flights; see `TilePipeline.changedElsewhere`. */
  overtake(change: TileChange): void {
    for (const flight of this.#flying.keys()) if (concerns(change, flight)) flight.overtaken = true;
  }

  /** Aborts flights whose source has not answered yet, and waits until the others are stored. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const flight of this.#flying.keys()) if (!flight.fetched) flight.abort(stopping());
    await Promise.all(this.#flying.values());
  }

  async #fly(flight: Flight, isThere: () => Promise<boolean>): Promise<void> {
    try {
      const release = await this.#claim(flight, isThere);
      if (!release) return flight.end('turned-back');
      flight.end(await this.#options.maker.make(flight).finally(release));
    } catch (error) {
      this.#fail(flight, error);
    } finally {
      this.#remove(flight);
      this.#flying.delete(flight);
    }
  }

  /** Null if the tiles exist by now. Tasks need no claim: their pieces are leased, so that no two nodes make the same tiles. */
  async #claim(flight: Flight, isThere: () => Promise<boolean>): Promise<(() => void) | null> {
    const { tiles, metatile, priority, ticket } = flight.plan;
    const claims = priority === 'task' || ticket === null ? null : this.#options.claims;
    for (let attempt = 0; claims && attempt < MAX_CLAIMS; attempt++) {
      if (attempt > 0) await claims.pause(flight.signal);
      const release = await claims.take(flightKey(tiles.set, metatile)).catch(() => () => {});
      // Checked after the claim: a node that made the metatile in the meantime stored it before releasing its claim.
      const found = await isThere().catch((error: unknown) => {
        release?.();
        throw error;
      });
      if (release && !found) return release;
      release?.();
      if (found) return null;
    }
    return (await isThere()) ? null : () => {};
  }

  #fail(flight: Flight, error: unknown): void {
    const { tiles, metatile } = flight.plan;
    // A source that refuses the credentials of a caller has not failed.
    if (isOfOneCaller(flight) && refusesCaller(error)) return void flight.end({ error });
    const labels = { layer: tiles.set.layer, reason: reasonOf(error) };
    this.#options.counters.count('flights_failed_total', labels);
    this.#options.onFailure(tiles.set.layer, error);
    if (isTilewardenError(error, 'source-bad-answer'))
      this.#options.counters.count('gate_refusals_total', labels);
    // A paused host was not queried, so this is not a new failure.
    if (isSourceFailure(error) && !hostClosedIn(error)) {
      const { layer } = tiles.set;
      this.#options.failures.sourceFailed(layer);
      this.#options.warn(error, `the source of layer ${layer} failed: ${reasonOf(error)}`);
      if (!flight.outdated && !isOfOneCaller(flight))
        this.#options.failures.remember(flightKey(tiles.set, metatile), error);
    }
    // The message for callers refers to the log.
    if (!isTilewardenError(error) && !flight.signal.aborted) {
      this.#options.warn(error, `tiles of layer ${tiles.set.layer} could not be made: unexpected failure`);
    }
    flight.end({ error });
  }

  /** Makes the flight joinable, and outdates a former one of the same metatile. */
  #add(flight: Flight): void {
    const { tiles, metatile } = flight.plan;
    const { layer } = tiles.set;
    const key = flightKey(tiles.set, metatile);
    const former = this.#open.get(layer)?.get(key);
    if (former) this.#outdate(former);
    getOrCreate(this.#open, layer, () => new Map<string, Flight>()).set(key, flight);
  }

  #remove(flight: Flight): void {
    const { tiles, metatile } = flight.plan;
    const ofLayer = this.#open.get(tiles.set.layer);
    const key = flightKey(tiles.set, metatile);
    if (ofLayer?.get(key) !== flight) return;
    ofLayer.delete(key);
    if (ofLayer.size === 0) this.#open.delete(tiles.set.layer);
  }

  #outdate(flight: Flight): void {
    flight.outdated = true;
    this.#remove(flight);
  }

  #abandon(flight: Flight): void {
    this.#options.counters.count('flights_abandoned_total', { layer: flight.plan.tiles.set.layer });
    this.#outdate(flight);
    flight.abort(new DOMException('All callers have gone.', 'AbortError'));
  }
}

function isOfOneCaller({ plan }: Flight): boolean {
  return plan.tiles.bound.layer.passCredentials; // Its tiles are made with a caller's: never shared.
}

function concerns(change: TileChange, { plan: { tiles, metatile } }: Flight): boolean {
  if (change.kind === 'everything') return true;
  if (change.kind === 'layer') return change.layer === tiles.set.layer;
  const isInSet =
    change.kind === 'tiles'
      ? tileSetId(change.set) === tileSetId(tiles.set)
      : change.layer === tiles.set.layer && change.place.gridSet === tiles.set.gridSet;
  const { z, rect } = change.kind === 'tiles' ? change : change.place;
  return isInSet && z === metatile.z && intersectRects(rect, metatile.rect) !== null;
}

/** By the tiles, not the metatile's position: a task may still have metatiles of a size that the layer had before. */
function flightKey(set: TileSetKey, { z, rect }: Metatile): string {
  return `${tileSetId(set)}${z}/${rect.minX}-${rect.maxX}/${rect.minY}-${rect.maxY}`;
}

function stopping(): TilewardenError {
  return new TilewardenError('stopping', 'The server is stopping.');
}

interface NegativeMemoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds, spread by a fifth so that joint failures are not retried together. */
  readonly ttlMs: number;
}

interface Failure {
  readonly error: unknown;
  /** On the monotonic clock. */
  readonly until: number;
}

/** As many as reads may wait for sources; entries expire within a second. */
const MAX_FAILURES = 2000;
const SPREAD = 0.2;
const MAX_LAYERS = 4096;
/** Milliseconds after a failure during which a source may be overloaded. */
const OVERLOAD_MS = 30_000;

/** Recent failures, which are repeated for a moment instead of querying again; and when each layer's source last failed. */
export class NegativeMemory {
  readonly #options: NegativeMemoryOptions;
  readonly #failures = new RecentMap<string, Failure>(MAX_FAILURES);
  readonly #failedAt = new RecentMap<string, number>(MAX_LAYERS);

  constructor(options: NegativeMemoryOptions) {
    this.#options = options;
  }

  find(key: string): { readonly error: unknown } | null {
    const failure = this.#failures.get(key);
    if (failure && failure.until > this.#options.clock.monotonic()) return failure;
    this.#failures.delete(key);
    return null;
  }

  sourceFailed(layer: string): void {
    this.#failedAt.set(layer, this.#options.clock.monotonic(), 1);
  }

  hasJustFailed(layer: string): boolean {
    const failedAt = this.#failedAt.get(layer);
    return failedAt !== null && this.#options.clock.monotonic() - failedAt < OVERLOAD_MS;
  }

  remember(key: string, error: unknown): void {
    const { clock, random, ttlMs } = this.#options;
    this.#failures.set(key, { error, until: clock.monotonic() + jitter(ttlMs, SPREAD, random) }, 1);
  }
}
