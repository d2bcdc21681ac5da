import type { TileIndex } from '../../domain/tile-key.ts';
import type { OldTileAsked } from '../old-cache.ts';

/** How a cache with one grid set and no parameters counts its tiles. */
export interface Counting {
  /** Any of its names. */
  readonly gridSet: string;
  /** Where its rows begin: at the bottom of the grid (`sw`) or at its top. */
  readonly origin: 'sw' | 'nw';
  /** Its levels and this are zooms of the grid set. */
  readonly zoomOffset?: number;
}

/** The tile as the other program counts it; null: it cannot have it. */
export function tileThere({ gridSet, tile, parameters }: OldTileAsked, counting: Counting): TileIndex | null {
  const isIts = gridSet.name === counting.gridSet || gridSet.aliases.includes(counting.gridSet);
  const rows = gridSet.levels[tile.z]?.rows;
  const z = tile.z - (counting.zoomOffset ?? 0);
  if (!isIts || parameters || rows === undefined || z < 0) return null;
  return { z, x: tile.x, y: counting.origin === 'nw' ? tile.y : rows - 1 - tile.y };
}
