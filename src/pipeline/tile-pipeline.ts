import type { BoundLayer } from '../catalog/catalog.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { ParameterSelection } from '../domain/parameter-filter.ts';
import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { StoredTile, TileChange, TilePlace } from '../storage/store.ts';

/** A tile set with the live things that make and keep its tiles. */
export interface ResolvedTileSet {
  readonly bound: BoundLayer;
  readonly subset: GridSubset;
  readonly format: Format;
  readonly selection: ParameterSelection;
  readonly set: TileSetKey;
  /** The source is always queried, and nothing is kept. */
  readonly bypass?: true;
  /** The caller's header, as it came, for layers that pass it on; absent: no caller is asking. */
  readonly authorization?: string | null;
}

export type CacheOutcome = 'HIT' | 'MISS' | 'STALE' | 'BYPASS';

export interface CachedTile extends Omit<StoredTile, 'madeBy'> {
  readonly outcome: CacheOutcome;
  /** Stretched from tiles of a lower zoom: never kept, and by clients only for seconds. */
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
  /** The requested tiles; the others of the metatile are stored too but not counted. */
  readonly within: TileRect;
  /**
   * `missing` leaves what is present and fresh as it is; `all` replaces it; `stale` replaces what is present and no
   * longer fresh, and takes what is not there for present.
   */
  readonly mode: RenewMode;
  /** The task that wants it; none for a client's request. */
  readonly task?: number;
  /** Token of the lease that it is made under; a shared store keeps nothing of it when the lease is lost. */
  readonly lease?: number;
  readonly signal: AbortSignal;
  /** Called for each request that leaves for the source's server, also when it fails. */
  readonly sent?: () => void;
  /** Awaited before the source is queried, if it has to be. */
  readonly turn?: () => Promise<void>;
  /** Called when the source has answered, before its answer is cut and stored. */
  readonly answered?: () => void;
  /** Called when the store refuses new tiles: whether to store them again, without fetching them again. */
  readonly storeAgain?: (error: unknown) => Promise<boolean>;
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
  /** Asks first. */
  mayShow(): Promise<boolean>;
  /** The content of the store is unknown now. */
  isAway(): boolean;
  /** Called with whatever this pipeline forgets, for the others. */
  readonly forgotten?: (change: TileChange) => void;
}

/** Whether an `Authorization` header is for this server itself, and so for no other. */
export type OwnCredentials = (authorization: string) => Promise<boolean>;

/** How a tile is made: read the store, join a flight, read again, fetch the metatile, check, cut, store, answer. */
export interface TilePipeline {
  /**
   * Throws `tile-outside`; `tile-not-cached` where the layer does not ask its source for clients; `source-…` when the source fails and no older tile is there; `source-busy` when too
   * many wait already. A caller that aborts leaves alone: the others go on waiting for the same metatile.
   * A tile in memory, or in a store that answers synchronously, comes without a promise; failures come as rejections.
   */
  read(tiles: ResolvedTileSet, tile: TileIndex, signal?: AbortSignal): CachedTile | Promise<CachedTile>;
  /**
   * Returns when the tiles are in the store. All tiles of the metatile are stored, so that neighbours show one
   * picture. With `all` the source is queried after the call began, never before.
   */
  renew(request: RenewRequest): Promise<RenewResult>;
  /**
   * Another process has replaced or removed these tiles: drops what the memory tier holds of them, and a flight
   * that is under way keeps nothing of what it brings. Later reads start again.
   */
  forget(set: TileSetKey, z: number, rect: TileRect): void;
  forgetLayer(layer: string): void;
  /**
   * The same for places in every format and for all parameters, whatever a store lists; undefined: the whole layer.
   */
  forgetPlaces(layer: string, places: readonly TilePlace[] | undefined): void;
  /**
   * Another process or node has changed tiles in the store: memory drops them, and holds nothing that flights under way
   * bring. `outdate`: the exact places are known, and those flights are outdated as by `forget`.
   */
  changedElsewhere(change: TileChange, how?: 'overtake' | 'outdate'): void;
  /** From now on tiles in memory are shown only if this says so. */
  guardCopies(guard: CopyGuard): void;
  /** From now on headers are passed on that this does not call our own; before, none are. */
  guardCredentials(isOwn: OwnCredentials): void;
  status(): PipelineStatus;
  /** Aborts fetches, and waits for tiles of sent responses to be stored. */
  close(): Promise<void>;
}

export const DEFAULT_PIPELINE_SETTINGS = {
  /** Bytes of tiles held in memory before the store; 0 holds none. */
  memoryTierBytes: 64 * 1024 * 1024,
  /** How many reads may wait for sources, half of them for one; further ones are refused with `source-busy`. */
  maxWaitingReads: 2000,
  /** Concurrent metatiles of one source: fetched, cut or stored. */
  maxFetchesPerSource: 32,
  /** Concurrent metatiles being cut, and in each store being stored after the answer. */
  maxLandings: 8,
  /** Metatiles being renewed behind answers that were given already. */
  maxRenewals: 64,
  /** How long a failure is answered again without asking the source again. Milliseconds. */
  negativeTtlMs: 500,
  /** How long a blank metatile is kept that comes soon after a failure of its source. Milliseconds. */
  doubtfulBlankMs: 120_000,
  /** How long a source may take, waiting in line included. Milliseconds. */
  flightDeadlineMs: 60_000,
  /** The same warning about the store is not repeated within it. Milliseconds. */
  warnIntervalMs: 60_000,
};

export type PipelineSettings = Readonly<typeof DEFAULT_PIPELINE_SETTINGS>;
