import type { Format } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import type { TileIndex } from '../domain/tile-key.ts';

export interface OldTile {
  /** As stored: unchecked. */
  readonly bytes: Buffer;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

export interface OldTileRequest {
  readonly gridSet: GridSet;
  readonly format: Format;
  /** Complete with defaults; null when every value is its default. */
  readonly parameters: ReadonlyMap<string, string> | null;
  /** Always complete with defaults. */
  readonly values: ReadonlyMap<string, string>;
  readonly tile: TileIndex;
}

/** A cache of another program for a layer. It is only read, and never listed. */
export interface OldCache {
  /** Null: no tile. Throws `store-failed` if the cache cannot be read. */
  read(request: OldTileRequest): Promise<OldTile | null>;
  close(): Promise<void>;
}

/** How a cache with one grid set and no parameters counts its tiles. */
export interface Counting {
  /** Its name or an alias. */
  readonly gridSet: string;
  /** Where its rows begin: at the bottom of the grid (`sw`) or at its top. */
  readonly origin: 'sw' | 'nw';
  /** Added to a level of the cache, it gives the zoom of the grid set. */
  readonly zoomOffset?: number;
}

/** The tile in the other program's numbers; null: the cache cannot have it. */
export function tileThere(
  { gridSet, tile, parameters }: OldTileRequest,
  counting: Counting,
): TileIndex | null {
  const rows = gridSet.levels[tile.z]?.rows;
  const z = tile.z - (counting.zoomOffset ?? 0);
  if (!isCalled(gridSet, counting.gridSet) || parameters || rows === undefined || z < 0) return null;
  return { z, x: tile.x, y: counting.origin === 'nw' ? tile.y : rows - 1 - tile.y };
}

export function isCalled({ name, aliases }: GridSet, wanted: string): boolean {
  return name === wanted || aliases.includes(wanted);
}
