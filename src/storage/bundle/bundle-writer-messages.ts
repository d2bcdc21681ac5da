import type { TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import type { StoredTile, TileWrite } from '../tile-store.ts';
import type { BundleAddress } from './bundle-layout.ts';

/** A tile of a put; its bytes lie in the message's `bytes`, behind those of the tile before it. */
export interface TileSlot extends Required<Omit<TileWrite, 'bytes'>> {
  readonly length: number;
}

export interface PutCommand {
  readonly set: TileSetKey;
  readonly z: number;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly slots: readonly TileSlot[];
  readonly bytes: Uint8Array;
}

export interface DeleteCommand extends Omit<BundleAddress, 'folder'> {
  readonly rect: TileRect;
  readonly createdBefore?: number | undefined;
}

/** Changes how long tiles count as fresh; with a generation, only if it is still that of the place. */
export interface FreshenCommand extends Omit<DeleteCommand, 'createdBefore'> {
  readonly change: FreshnessChange;
}

export type FreshnessChange =
  | { readonly staleAt: number; readonly createdBefore?: number | undefined }
  | (Pick<StoredTile, 'createdAt' | 'freshUntil' | 'madeBy'> & { readonly generation: number });

/** Removes a tile whose bytes do not have its checksum, unless it has been replaced meanwhile. */
export interface DiscardTileCommand extends Pick<StoredTile, 'checksum' | 'createdAt'> {
  readonly path: string;
  readonly key: number;
}
