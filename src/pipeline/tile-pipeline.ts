import type { BoundLayer } from '../catalog/catalog.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { ParameterSelection } from '../domain/parameter-filter.ts';
import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { StoredTile, TileChange, TilePlace } from '../storage/store.ts';

/** A tile set with the layer's source and store. */
export interface ResolvedTileSet {
  readonly bound: BoundLayer;
  readonly subset: GridSubset;
  readonly format: Format;
  readonly selection: ParameterSelection;
  readonly set: TileSetKey;
  /** Every request queries the source, and nothing is cached. */
  readonly bypass?: true;
  /** The client's `Authorization` header, for layers that pass it on; absent: the work has no client. */
  readonly authorization?: string | null;
}

export type CacheOutcome = 'HIT' | 'MISS' | 'STALE' | 'BYPASS';

export interface CachedTile extends Omit<StoredTile, 'madeBy'> {
  readonly outcome: CacheOutcome;
  /** Stretched from tiles of a lower zoom: not cached here, and by clients only for seconds. */
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
  /** Token of the task's lease: a shared store refuses tiles once that is lost. */
  readonly lease?: number | undefined;
  readonly signal: AbortSignal;
  /** Called for each request that is sent to the source's server, even if it fails. */
  readonly sent?: (() => void) | undefined;
  /** Awaited before a request to the source. */
  readonly turn?: () => Promise<void>;
  /** Called when the source has responded, before the response is cut and stored. */
  readonly answered?: () => void;
  /** Called when the store refuses the tiles; true: try to store them again, without another fetch. */
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

/** Decides whether tiles in memory may be served, where other processes or nodes change tiles too. */
export interface CopyGuard {
  /** Called for every hit. If false, `mayShow` decides. */
  isCurrent(): boolean;
  /** Queries the database if needed. */
  mayShow(): Promise<boolean>;
  /** Whether the database is unreachable, so that the content of the store is unknown. */
  isAway(): boolean;
  /** Called with each change that this pipeline applies, to report it to other processes. */
  readonly forgotten?: (change: TileChange) => void;
}

/** Whether an `Authorization` header has credentials of this server, which no other server may see. */
export type OwnCredentials = (authorization: string) => Promise<boolean>;

/** A read: look up memory and store; join or start a flight: fetch the metatile, check, cut, respond, store. */
export interface TilePipeline {
  /**
   * Throws `tile-outside`; `tile-not-cached` where requests may not query the source; `source-…` if the source fails and
   * no older tile may be served; `source-busy` if too many reads wait. An abort concerns only its caller, not others that
   * wait for the metatile. Returns a tile without a promise if it is in memory or in a synchronous store.
   */
  read(tiles: ResolvedTileSet, tile: TileIndex, signal?: AbortSignal): CachedTile | Promise<CachedTile>;
  /**
   * Resolves when the tiles are in the store. All tiles of the metatile are stored, so that neighbours are cut from the
   * same picture. With `all`, a flight that started before this call is not joined.
   */
  renew(request: RenewRequest): Promise<RenewResult>;
  /**
   * Another process has replaced or removed these tiles: memory drops them, and current flights of them are outdated, so
   * that they cache nothing and later reads start new ones.
   */
  forget(set: TileSetKey, z: number, rect: TileRect): void;
  /** As `forget`, for places in every format and for all parameters; undefined: for the whole layer. */
  forgetPlaces(layer: string, places: readonly TilePlace[] | undefined): void;
  /**
   * Another process or node has changed tiles in the store: memory drops them, and does not cache those of current
   * flights. `outdate`: the exact places are known, and those flights are outdated as by `forget`.
   */
  changedElsewhere(change: TileChange, how?: 'overtake' | 'outdate'): void;
  /** From now on, tiles in memory are served only while the guard allows it. */
  guardCopies(guard: CopyGuard): void;
  /** From now on, `Authorization` headers are passed on, except this server's own (`isOwn`). Before, none is. */
  guardCredentials(isOwn: OwnCredentials): void;
  status(): PipelineStatus;
  /** Aborts fetches, and waits until tiles that were already fetched are stored. */
  close(): Promise<void>;
}

export const DEFAULT_PIPELINE_SETTINGS = {
  /** Bytes of tiles held in memory before the store; 0 holds none. */
  memoryTierBytes: 64 * 1024 * 1024,
  /** Limit of reads that wait for sources; a single source gets half of them. Further ones are refused (`source-busy`). */
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
  /** How long a flight may take until the source has responded, including its wait. Milliseconds. */
  flightDeadlineMs: 60_000,
  /** A warning about the store is not repeated within this time. Milliseconds. */
  warnIntervalMs: 60_000,
};

export type PipelineSettings = Readonly<typeof DEFAULT_PIPELINE_SETTINGS>;
