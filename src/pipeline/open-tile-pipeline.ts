import { countedSet, type ParameterSets } from '../catalog/parameter-sets.ts';
import { isSourceFailure, isTilewardenError, TilewardenError } from '../domain/errors.ts';
import { subsetContains } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { TileEvents } from '../domain/tile-events.ts';
import { MADE_BY_REQUEST, type TileIndex, type TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { Clock } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import type { Env } from '../lib/env.ts';
import type { Random } from '../lib/random.ts';
import type { TileCutter } from '../raster/tile-cutter.ts';
import { readNow } from '../storage/read-tiles.ts';
import type { StoredTile, Ticket, TileChange, TilePlace } from '../storage/store.ts';
import { AdoptedTiles } from './adopted-tiles.ts';
import type { Flight } from './flight.ts';
import {
  type FailureListener,
  type FlightClaims,
  Flights,
  type KnownChange,
  NegativeMemory,
} from './flights.ts';
import {
  isFresh,
  isKept,
  mayServeAfterFailure,
  mayServeWhileRenewing,
  mayServeWithoutSource,
} from './freshness.ts';
import { type FoundBeside, MemoryTier } from './memory-tier.ts';
import { MetatileMaker } from './metatile-maker.ts';
import { PassedReads } from './passed-reads.ts';
import { createRateLimitedWarning, type RateLimitedWarning } from './rate-limited-warning.ts';
import { createRenewer } from './renewer.ts';
import { checkTile, mayAskSource, metatileWith, notCached, SINGLE_TILE } from './resolve-tile-set.ts';
import { createTileStretcher } from './stretch-tile.ts';
import {
  type CachedTile,
  type CacheOutcome,
  type CopyGuard,
  DEFAULT_PIPELINE_SETTINGS,
  type OwnCredentials,
  type PipelineSettings,
  type PipelineStatus,
  type ResolvedTileSet,
  type TilePipeline,
} from './tile-pipeline.ts';
import { busy, WaitingReads } from './waiting-reads.ts';

interface TilePipelineOptions extends Env {
  /** Closed by the caller. */
  readonly cutter: TileCutter;
  readonly events: TileEvents;
  readonly random: Random;
  readonly settings?: Partial<PipelineSettings>;
  readonly counters?: Pick<Counters, 'count'>;
  readonly onFailure?: FailureListener;
  readonly claims?: FlightClaims | undefined;
  /** Which combinations of parameter values may be stored; absent: all. */
  readonly parameterSets?: Pick<ParameterSets, 'admit' | 'require'>;
}

/** A tile that is not in memory, and its reader. */
interface TileRead {
  readonly tiles: ResolvedTileSet;
  readonly tile: TileIndex;
  readonly signal?: AbortSignal | undefined;
}

/** Undefined: the store could not be read, and may have the tile. */
type Lookup = StoredTile | null | undefined;

/** After a flight that turned back, its readers read the store again; more rounds than this mean an inconsistent store. */
const MAX_LOOKUPS = 4;
const UNREADABLE = 'The tile store cannot be read.';
const NEVER = new AbortController().signal;

export function openTilePipeline(options: TilePipelineOptions): TilePipeline {
  return new Pipeline(options);
}

class Pipeline implements TilePipeline {
  readonly #clock: Clock;
  readonly #events: TileEvents;
  readonly #counters: Pick<Counters, 'count'>;
  readonly #settings: PipelineSettings;
  readonly #warn: RateLimitedWarning;
  readonly #tier: MemoryTier;
  readonly #maker: MetatileMaker;
  readonly #flights: Flights;
  readonly renew: TilePipeline['renew'];
  readonly #adopted: AdoptedTiles;
  readonly #passed: PassedReads;
  readonly #unsubscribe: () => void;
  readonly #parameterSets: TilePipelineOptions['parameterSets'];
  #copies: CopyGuard | null = null;
  readonly #waiting: WaitingReads;
  readonly #stretch = createTileStretcher((tiles, tile) => this.#findCached(tiles, tile));
  #renewals = 0;

  constructor(options: TilePipelineOptions) {
    const { events, clock, random, log, settings, counters = new Counters(), onFailure = () => {} } = options;
    this.#clock = clock;
    this.#parameterSets = options.parameterSets;
    this.#events = events;
    this.#counters = counters;
    this.#settings = { ...DEFAULT_PIPELINE_SETTINGS, ...settings };
    const { memoryTierBytes, maxWaitingReads, negativeTtlMs, warnIntervalMs } = this.#settings;
    this.#waiting = new WaitingReads(maxWaitingReads, counters);
    this.#warn = createRateLimitedWarning(log, clock, warnIntervalMs);
    this.#tier = new MemoryTier(memoryTierBytes);
    const failures = new NegativeMemory({ clock, random, ttlMs: negativeTtlMs });
    this.#maker = new MetatileMaker({
      ...this.#settings,
      clock,
      events,
      tier: this.#tier,
      cutter: options.cutter,
      hasJustFailed: (layer) => failures.hasJustFailed(layer),
      counters,
      warn: this.#warn,
    });
    const reports = { counters, warn: this.#warn, onFailure };
    this.#flights = new Flights({ maker: this.#maker, failures, ...reports, claims: options.claims });
    this.#passed = new PassedReads(this.#flights);
    this.#adopted = new AdoptedTiles({ clock, events, counters, warn: this.#warn });
    this.renew = createRenewer(this.#flights, this.#adopted, clock, options.parameterSets);
    this.#unsubscribe = events.subscribe((event) => {
      if (event.type === 'layer-dropped') this.#forget({ kind: 'layer', layer: event.layer });
      if (event.type !== 'deleted') return;
      const { set, z, rect } = event;
      this.#dropCopies({ kind: 'tiles', set, z, rect });
      this.#copies?.forgotten?.({ kind: 'tiles', set, z, rect });
    });
  }

  read(tiles: ResolvedTileSet, tile: TileIndex, signal?: AbortSignal): CachedTile | Promise<CachedTile> {
    if (tiles.bound.layer.passCredentials)
      return this.#waiting.during(tiles, () => this.#passed.read(tiles, tile, signal));
    if (this.#copies && !this.#copies.isCurrent()) {
      return this.#readUnsure(this.#copies, { tiles, tile, signal });
    }
    const kept = this.#tier.get(tiles.set, tile) ?? this.#loadNow(tiles, tile);
    if (!kept || !this.#isFresh(tiles, tile.z, kept)) {
      return this.#readBehindMemory({ tiles, tile, signal }, kept === null);
    }
    this.#served(tiles.set, tile);
    return kept;
  }

  async #readUnsure(copies: CopyGuard, wanted: TileRead): Promise<CachedTile> {
    const { tiles, tile } = wanted;
    const kept = (await copies.mayShow()) ? this.#tier.get(tiles.set, tile) : null;
    if (!kept || !this.#isFresh(tiles, tile.z, kept)) return this.#readBehindMemory(wanted);
    this.#served(tiles.set, tile);
    return kept;
  }

  forget(set: TileSetKey, z: number, rect: TileRect): void {
    this.#forget({ kind: 'tiles', set, z, rect });
  }

  forgetPlaces(layer: string, places?: readonly TilePlace[]): void {
    if (!places) this.#forget({ kind: 'layer', layer });
    for (const place of places ?? []) this.#forget({ kind: 'place', layer, place });
    this.#events.emit({ type: 'outdated', layer, places: places ?? null, at: this.#clock.now() });
  }

  #forget(change: KnownChange): void {
    this.#dropCopies(change);
    this.#flights.outdate(change);
    this.#copies?.forgotten?.(change);
  }

  changedElsewhere(change: TileChange, how: 'overtake' | 'outdate' = 'overtake'): void {
    this.#dropCopies(change);
    if (how === 'outdate' && change.kind !== 'everything') this.#flights.outdate(change);
    else this.#flights.overtake(change);
  }

  #dropCopies(change: TileChange): void {
    if (change.kind === 'everything') this.#tier.dropAll();
    if (change.kind === 'layer') this.#tier.dropLayer(change.layer);
    if (change.kind === 'place') this.#tier.dropPlace(change.layer, change.place);
    if (change.kind === 'tiles') this.#tier.drop(change.set, change.z, change.rect);
  }

  guardCopies(guard: CopyGuard): void {
    this.#copies = guard;
  }

  guardCredentials(isOwn: OwnCredentials): void {
    this.#passed.guard(isOwn);
  }

  status(): PipelineStatus {
    return {
      flights: this.#flights.size,
      waitingReads: this.#waiting.count,
      memoryTierBytes: this.#tier.bytes,
      memoryTierTiles: this.#tier.tiles,
    };
  }

  async close(): Promise<void> {
    await this.#flights.close();
    await this.#adopted.close();
    this.#unsubscribe();
  }

  /** Synchronous, so that a tile cannot be dropped or replaced between the read and its entry into memory. */
  #loadNow(tiles: ResolvedTileSet, tile: TileIndex): CachedTile | null | undefined {
    const { store } = tiles.bound;
    if (!subsetContains(tiles.subset, tile.z, tile.x, tile.y)) return undefined;
    const found = readNow(store, tiles.set, tile);
    return found && this.#tier.put(tiles.set, tile, found);
  }

  /** `isAbsent`: the store has just been read, and does not have the tile. */
  async #readBehindMemory(wanted: TileRead, isAbsent = false): Promise<CachedTile> {
    checkTile(wanted.tiles, wanted.tile);
    for (let lookup = 0; lookup < MAX_LOOKUPS; lookup++) {
      const answer = await this.#lookUpOrFly(wanted, isAbsent && lookup === 0);
      if (!answer) continue;
      this.#served(wanted.tiles.set, wanted.tile);
      return answer;
    }
    throw busy('The tile is being replaced repeatedly.');
  }

  /** Null if the tile is in the store by now: the caller looks it up again. */
  async #lookUpOrFly(wanted: TileRead, isAbsent: boolean): Promise<CachedTile | null> {
    const { tiles, tile } = wanted;
    if (!mayAskSource(tiles)) return this.#readCached(wanted, isAbsent);
    const found = isKept(tiles, tile.z) ? await this.#find(tiles, tile, isAbsent) : null;
    if (!found) return this.#fly(wanted, found === null);
    const { layer } = tiles.bound;
    const now = this.#clock.now();
    if (isFresh(tiles, tile.z, found, now)) return answerWith(found, 'HIT');
    if (mayServeWhileRenewing(layer, tile.z, found, now)) {
      this.#renewBehind(wanted);
      return answerWith(found, 'STALE');
    }
    const older = mayServeAfterFailure(layer, tile.z, found, now) ? answerWith(found, 'STALE') : null;
    try {
      const made = await this.#fly(wanted);
      return made?.incomplete ? (older ?? made) : made;
    } catch (error) {
      if (isSourceFailure(error) && older) return older;
      throw error;
    }
  }

  async #readCached({ tiles, tile, signal }: TileRead, isAbsent: boolean): Promise<CachedTile> {
    const cached = await this.#findCached(tiles, tile, isAbsent);
    if (cached) return cached;
    const { onMiss } = tiles.bound.layer;
    const stretched = onMiss === 'parent' ? await this.#stretch(tiles, tile, signal ?? NEVER) : null;
    if (stretched) return stretched;
    throw notCached(tiles, tile);
  }

  /** Null if no cached tile may be served without the source. */
  async #findCached(tiles: ResolvedTileSet, tile: TileIndex, isAbsent = false): Promise<CachedTile | null> {
    if (!isKept(tiles, tile.z)) return null;
    const found = await this.#find(tiles, tile, isAbsent);
    if (!found) return null;
    if (this.#isFresh(tiles, tile.z, found)) return answerWith(found, 'HIT');
    const served = mayServeWithoutSource(tiles.bound.layer, tile.z, found, this.#clock.now());
    return served ? answerWith(found, 'STALE') : null;
  }

  async #find(tiles: ResolvedTileSet, tile: TileIndex, isAbsent: boolean): Promise<Lookup> {
    const found = isAbsent ? null : await this.#lookUp(tiles, tile);
    return found === null ? this.#adopted.find(tiles, tile) : found;
  }

  /** Renews in the background; the client has its response already. */
  #renewBehind({ tiles, tile }: TileRead): void {
    if (this.#renewals >= this.#settings.maxRenewals) return;
    this.#renewals++;
    this.#joinOrStart({ tiles, tile }, 'task')
      .then((flight) => flight.landed(NEVER))
      .catch(() => {})
      .finally(() => this.#renewals--);
  }

  /** Undefined if the store fails and the source may be queried: the tile is then made without being stored. */
  async #lookUp(tiles: ResolvedTileSet, tile: TileIndex): Promise<Lookup> {
    const load = this.#tier.beginLoad(tiles.set, tile);
    const beside: FoundBeside[] = [];
    let found: Lookup;
    try {
      found = await tiles.bound.store.get(tiles.set, tile, (other, stored) =>
        beside.push({ tile: other, stored }),
      );
    } catch (error) {
      this.#readFailed(tiles, error);
      if (!mayAskSource(tiles)) throw new TilewardenError('store-failed', UNREADABLE, { cause: error });
    } finally {
      this.#tier.endLoad(load, found ?? null, beside);
    }
    return found;
  }

  async #fly(wanted: TileRead, mayStore = true): Promise<CachedTile | null> {
    const { tiles, tile, signal } = wanted;
    return this.#waiting.during(tiles, async () => {
      const flight = await this.#joinOrStart(wanted, 'interactive', mayStore);
      // A tile that was made before this request is a hit, even if it is not stored yet.
      const outcome = flight.hasMade(tile) ? 'HIT' : 'MISS';
      const made = await flight.tile(tile, signal);
      if (made && flight.warning !== null) return { ...answerWith(made, 'BYPASS'), warning: flight.warning };
      // `incomplete` lets neither clients nor CDNs cache the response.
      if (made && flight.incomplete) return { ...answerWith(made, 'STALE'), incomplete: true };
      if (made && flight.outdated) return answerWith(made, 'STALE');
      return made && answerWith(made, this.#canStore(flight) ? outcome : 'BYPASS');
    });
  }

  async #joinOrStart(
    { tiles, tile, signal }: TileRead,
    priority: 'interactive' | 'task',
    mayStore = true,
  ): Promise<Flight> {
    const kept = isKept(tiles, tile.z);
    // Tiles that are not cached are fetched singly: the others of a metatile would be discarded.
    const metatile = metatileWith(tiles, tile, kept ? undefined : SINGLE_TILE);
    const ticket = kept && mayStore ? await this.#ticketFor(tiles, metatile) : null;
    signal?.throwIfAborted();
    const joined = this.#flights.find(tiles.set, metatile, ticket?.generation ?? null);
    if (joined) return joined;
    this.#flights.refuseIfFailing(tiles.set, metatile);
    const isThere = async () => {
      const found = await this.#lookUp(tiles, tile);
      return found != null && this.#isFresh(tiles, tile.z, found);
    };
    const plan = { tiles, metatile, ticket: ticket?.number ?? null, priority, madeBy: MADE_BY_REQUEST };
    return this.#flights.start(plan, isThere);
  }

  async #ticketFor(tiles: ResolvedTileSet, { z, rect }: Metatile): Promise<Ticket | null> {
    const { layer, gridSet } = tiles.set;
    if (this.#copies?.isAway()) return null;
    try {
      if (!(await this.#mayStore(tiles))) return null;
      return await tiles.bound.store.ticket(layer, { gridSet, z, rect });
    } catch (error) {
      this.#readFailed(tiles, error);
      return null;
    }
  }

  async #mayStore(tiles: ResolvedTileSet): Promise<boolean> {
    if (tiles.set.parametersId === null || !this.#parameterSets) return true;
    return this.#parameterSets.admit(...countedSet(tiles));
  }

  #readFailed(tiles: ResolvedTileSet, error: unknown): void {
    this.#counters.count('store_read_failures_total', {
      layer: tiles.set.layer,
      reason: isTilewardenError(error) ? error.code : 'unexpected',
    });
    const instead = mayAskSource(tiles) ? '; tiles are fetched from their source instead' : '';
    this.#warn(error, `the tile store could not be read${instead}`);
  }

  #canStore({ plan }: Flight): boolean {
    return plan.ticket !== null && !this.#maker.isFailing(plan.tiles.bound.store);
  }

  #isFresh(tiles: ResolvedTileSet, z: number, tile: StoredTile | CachedTile): boolean {
    return isFresh(tiles, z, tile, this.#clock.now());
  }

  #served(set: TileSetKey, tile: TileIndex): void {
    this.#events.emit({ type: 'served', set, tile, at: this.#clock.now() });
  }
}

function answerWith(
  { bytes, createdAt, checksum, freshUntil }: StoredTile,
  outcome: CacheOutcome,
): CachedTile {
  return { bytes, createdAt, checksum, freshUntil, outcome };
}
