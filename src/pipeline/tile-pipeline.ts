import type { BoundLayer } from '../catalog/bound-layer.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Metatile } from '../domain/metatile.ts';
import type { ParameterSelection } from '../domain/parameter-filter.ts';
import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';

/** A tile set with the live things that make and keep its tiles. */
export interface ResolvedTileSet {
  readonly bound: BoundLayer;
  readonly subset: GridSubset;
  readonly format: Format;
  readonly selection: ParameterSelection;
  readonly set: TileSetKey;
}

export type CacheOutcome = 'HIT' | 'MISS' | 'STALE' | 'BYPASS';

export interface TileAnswer {
  readonly bytes: Buffer;
  readonly createdAt: number;
  readonly checksum: number;
  readonly outcome: CacheOutcome;
}

export interface RenewRequest {
  readonly tiles: ResolvedTileSet;
  readonly metatile: Metatile;
  /** The tiles that were asked for; the others of the metatile are stored too but not counted. */
  readonly within: TileRect;
  /** `missing` leaves what is present and fresh as it is; `all` replaces it. */
  readonly mode: 'missing' | 'all';
  readonly signal: AbortSignal;
}

/** Counts tiles inside `within`; made + present equals their number. */
export interface RenewResult {
  readonly made: number;
  readonly present: number;
  /** How many of the made ones are of one colour. */
  readonly blank: number;
  /** Bytes stored, over the whole metatile. */
  readonly bytes: number;
  readonly upstreamRequests: number;
}

/** The one road of a tile: look, join a flight, look again, fetch the metatile, check, cut, store, answer. */
export interface TilePipeline {
  read(tiles: ResolvedTileSet, tile: TileIndex, signal?: AbortSignal): Promise<TileAnswer>;
  /** Returns when the tiles are in the store. */
  renew(request: RenewRequest): Promise<RenewResult>;
  /** Drops what the memory tier holds of these tiles: another process has replaced or removed them. */
  forget(set: TileSetKey, z: number, rect: TileRect): void;
  forgetLayer(layer: string): void;
  /** Waits for tiles that are still being stored behind answers already given. */
  close(): Promise<void>;
}
