import type { BoundLayer } from '../catalog/catalog.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { ParameterSelection } from '../domain/parameter-filter.ts';
import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { StoredTile, TileChange, TilePlace } from '../storage/store.ts';

/** A tile set with its source and store. */
export interface ResolvedTileSet {
  readonly bound: BoundLayer;
  readonly subset: GridSubset;
  readonly format: Format;
  readonly selection: ParameterSelection;
  readonly set: TileSetKey;
  /** The source is always queried, and nothing is kept. */
  readonly bypass?: true;
  /** The caller's header, unchanged, for layers that pass it on; absent: no caller is waiting. */
  readonly authorization?: string | null;
}

export type CacheOutcome = 'HIT' | 'MISS' | 'STALE' | 'BYPASS';

export interface CachedTile extends Omit<StoredTile, 'madeBy'> {
  readonly outcome: CacheOutcome;
  /** Stretched from tiles of a lower zoom: never cached here, and by clients only for seconds. */
  readonly standIn?: true;
  /** Drawn without a part that failed. */
  readonly incomplete?: true;
  /** As in `SourceResult`. */
  readonly warning?: string;
}

export type RenewMode = 'missing' | 'all' | 'stale';

export interface RenewRequest {
  readonly tiles: ResolvedTileSet;
  readonly metatile: Metatile;
  /** The requested tiles; the others of the metatile are stored too, but not counted. */
  readonly within: TileRect;
  /**
   * `missing` leaves present and fresh tiles unchanged; `all` replaces them; `stale` replaces those that are present
   * and no longer fresh, and counts missing ones as present.
   */
  readonly mode: RenewMode;
  /** The id of the task; absent: a client's request. */
  readonly task?: number;
  /** Token of its lease; a shared store stores nothing when the lease is lost. */
  readonly lease?: number | undefined;
  readonly signal: AbortSignal;
  /** Called for each request that leaves for the source's server, also when it fails. */
  readonly sent?: (() => void) | undefined;
  /** Awaited before a request to the source. */
  readonly turn?: () => Promise<void>;
  /** Called when the source has answered, before its answer is cut and stored. */
  readonly answered?: () => void;
  /** Called when the store refuses new tiles: whether to store them again, without another fetch. */
  readonly storeAgain?: ((error: unknown) => Promise<boolean>) | undefined;
}

/** Counts tiles inside `within`; made + present equals their number. */
export interface RenewResult {
  readonly made: number;
  readonly present: number;
  readonly blank: number;
  /** Bytes stored, over the whole metatile. */
  readonly bytes: number;
  readonly upstreamRequests: number;
}

export const NOTHING_RENEWED: RenewResult = { made: 0, present: 0, blank: 0, bytes: 0, upstreamRequests: 0 };

export interface PipelineStatus {
  readonly flights: number;
  readonly waitingReads: number;
  readonly memoryTierBytes: number;
  readonly memoryTierTiles: number;
}

/** Knows whether copies of tiles may be shown, where other nodes change tiles too. */
export interface CopyGuard {
  /** Synchronously, for every hit. */
  isCurrent(): boolean;
  /** Queries the database if needed. */
  mayShow(): Promise<boolean>;
  /** Whether the database is unreachable, so that the content of the store is unknown. */
  isAway(): boolean;
  /** Called with each change that this pipeline applies, to report it to other processes. */
  readonly forgotten?: (change: TileChange) => void;
}

/** Whether an `Authorization` header is for this server itself, and so for no other. */
export type OwnCredentials = (authorization: string) => Promise<boolean>;

/** Steps: read the store, join a flight, read again, fetch the metatile, check, cut, store, respond. */
export interface TilePipeline {
  /**
   * Throws `tile-outside`; `tile-not-cached` where clients do not reach the source; `source-…` when the source fails
   * without an older tile; `source-busy` when too many are waiting. An abort concerns its caller only: others still
   * wait for the metatile. A tile in memory, or in a synchronous store, comes without a promise; failures come as
   * rejections.
   */
  read(tiles: ResolvedTileSet, tile: TileIndex, signal?: AbortSignal): CachedTile | Promise<CachedTile>;
  /**
   * Returns when the tiles are in the store. All tiles of the metatile are stored, so that neighbours show one
   * picture. With `all` the source is queried after the call began, never before.
   */
  renew(request: RenewRequest): Promise<RenewResult>;
  /**
   * Another process has replaced or removed these tiles: the memory tier drops them, and flights that are under way
   * cache nothing. Later reads start again.
   */
  forget(set: TileSetKey, z: number, rect: TileRect): void;
  /**
   * The same for places in every format and for all parameters, whatever a store lists; undefined: the whole layer.
   */
  forgetPlaces(layer: string, places: readonly TilePlace[] | undefined): void;
  /**
   * Another process or node has changed tiles in the store: memory drops them, and caches no tiles of flights under
   * way. `outdate`: the exact places are known, and those flights are outdated as by `forget`.
   */
  changedElsewhere(change: TileChange, how?: 'overtake' | 'outdate'): void;
  /** From now on tiles in memory are shown only while the guard allows it. */
  guardCopies(guard: CopyGuard): void;
  /** From now on headers are passed on, except those of this server (`isOwn`); before, none is. */
  guardCredentials(isOwn: OwnCredentials): void;
  status(): PipelineStatus;
  /** Aborts fetches, and waits for tiles of sent responses to be stored. */
  close(): Promise<void>;
}

export const DEFAULT_PIPELINE_SETTINGS = {
  /** Bytes of tiles held in memory before the store; 0 holds none. */
  memoryTierBytes: 64 * 1024 * 1024,
  /** Limit of reads that wait for sources, half of them for one; further ones are refused with `source-busy`. */
  maxWaitingReads: 2000,
  /** Concurrent metatiles of one source: fetched, cut or stored. */
  maxFetchesPerSource: 32,
  /** Concurrent metatiles being cut, and being stored in each store. */
  maxLandings: 8,
  /** Metatiles being renewed after their responses were sent. */
  maxRenewals: 64,
  /** How long a failure is repeated without querying the source again. Milliseconds. */
  negativeTtlMs: 500,
  /** How long a blank metatile is cached that comes soon after a failure of its source. Milliseconds. */
  doubtfulBlankMs: 120_000,
  /** How long a source may take, including the wait. Milliseconds. */
  flightDeadlineMs: 60_000,
  /** A warning about the store is not repeated within this time. Milliseconds. */
  warnIntervalMs: 60_000,
};

export type PipelineSettings = Readonly<typeof DEFAULT_PIPELINE_SETTINGS>;
