import type { Format } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import type { TileIndex } from '../domain/tile-key.ts';

export interface OldTile {
  /** As they are stored: unchecked. */
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

export interface OldTileRequest {
  readonly gridSet: GridSet;
  readonly format: Format;
  /** Complete with defaults; null when every value is its default. */
  readonly parameters: ReadonlyMap<string, string> | null;
  readonly tile: TileIndex;
}

/** A cache of another program for a layer. It is only read, and never listed. */
export interface OldCache {
  /** Null: it has no tile there. Throws `store-failed` if that is unknown. */
  read(request: OldTileRequest): Promise<OldTile | null>;
  close(): Promise<void>;
}
