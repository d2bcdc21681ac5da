import type { TileSetKey } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import type { PackCursor } from '../index/index-reader.ts';
import type { PackedTiles } from '../pack-tiles.ts';
import type { StoreChange, StoreEdit } from '../store.ts';

export interface PutCommand extends PackedTiles {
  readonly set: TileSetKey;
  readonly z: number;
  readonly ticket: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface EditCommand {
  readonly set: TileSetKey;
  readonly z: number;
  readonly rect: TileRect;
  readonly edit: StoreEdit;
  readonly after: PackCursor;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface EditResult extends StoreChange {
  /** Where to go on; null: all of it is done. */
  readonly next: PackCursor | null;
}
