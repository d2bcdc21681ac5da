import type { TileMaker, TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import type { StoreChange, StoredTile, TilePlace } from '../tile-store.ts';
import type { FailureMessage } from './sqlite-failure.ts';

/** A tile of a put; its bytes lie in the message's `bytes`, behind those of the tile before it. */
export interface TileSlot {
  readonly x: number;
  readonly y: number;
  readonly createdAt: number;
  readonly freshUntil: number | null;
  readonly validator: string | null;
  readonly madeBy: TileMaker;
  readonly length: number;
}

export interface PutCommand {
  readonly type: 'put';
  readonly set: TileSetKey;
  readonly z: number;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly slots: readonly TileSlot[];
  readonly bytes: Uint8Array;
}

export interface DeleteCommand {
  readonly type: 'delete';
  readonly set: TileSetKey;
  readonly z: number;
  readonly bundleX: number;
  readonly bundleY: number;
  readonly rect: TileRect;
  readonly createdBefore?: number | undefined;
}

/** Changes how long tiles count as fresh; with a generation, only if it is still that of the place. */
export interface FreshenCommand {
  readonly type: 'freshen';
  readonly set: TileSetKey;
  readonly z: number;
  readonly bundleX: number;
  readonly bundleY: number;
  readonly rect: TileRect;
  readonly change: FreshnessChange;
}

export type FreshnessChange =
  | { readonly staleAt: number; readonly createdBefore?: number | undefined }
  | (Pick<StoredTile, 'createdAt' | 'freshUntil' | 'madeBy'> & { readonly generation: number });

/** Removes a tile whose bytes do not have its checksum, unless it has been replaced meanwhile. */
export interface DiscardTileCommand {
  readonly type: 'discard-tile';
  readonly path: string;
  readonly key: number;
  readonly checksum: number;
  readonly createdAt: number;
}

/** Removes a file that cannot be read as a bundle. */
export interface DiscardBundleCommand {
  readonly type: 'discard-bundle';
  readonly path: string;
}

/** Nobody reads the bundle here any more, and there is a log beside it. */
export interface RestCommand {
  readonly type: 'rest';
  readonly path: string;
}

/** Mends a bundle's page statistics; answers how wrong they were. */
export interface RecountCommand {
  readonly type: 'recount';
  readonly folder: string;
}

export interface RaiseCommand {
  readonly type: 'raise';
  readonly layer: string;
  readonly places?: readonly TilePlace[] | undefined;
}

/** Of many whole layers, all or none. */
export interface RaiseAllCommand {
  readonly type: 'raise-all';
  readonly layers: readonly string[];
}

/** A folder of bundles is about to be moved away; answers a mark that `close-below` gives back afterwards. */
export interface DroppingCommand {
  readonly type: 'dropping';
  readonly folder: string;
}

export interface CloseBelowCommand {
  readonly type: 'close-below';
  readonly folder: string;
  readonly mark: number;
}

export interface CloseCommand {
  readonly type: 'close';
}

export type WriterCommand =
  | PutCommand
  | DeleteCommand
  | FreshenCommand
  | DiscardTileCommand
  | DiscardBundleCommand
  | RestCommand
  | RecountCommand
  | RaiseCommand
  | RaiseAllCommand
  | DroppingCommand
  | CloseBelowCommand
  | CloseCommand;

export interface DeleteResult {
  readonly change: StoreChange;
  /** Whether nothing was left, so that the bundle itself went. */
  readonly removed: boolean;
}

/** What each command answers. */
export interface WriterResults {
  readonly put: StoreChange;
  readonly delete: DeleteResult;
  /** How many tiles there were. */
  readonly freshen: number;
  readonly 'discard-tile': StoreChange;
  readonly 'discard-bundle': boolean;
  readonly rest: null;
  readonly recount: StoreChange;
  readonly raise: number;
  readonly 'raise-all': null;
  readonly dropping: number;
  readonly 'close-below': null;
  readonly close: null;
}

export interface WriterRequest {
  readonly id: number;
  readonly command: WriterCommand;
}

export type WriterAnswer =
  | { readonly id: number; readonly result: WriterResults[keyof WriterResults] }
  | { readonly id: number; readonly failure: FailureMessage }
  /** Not an answer to anything: the thread found and removed a file that is not a bundle. */
  | { readonly damaged: string; readonly reason: string };
