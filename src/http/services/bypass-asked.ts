import { invalid } from '../../domain/errors.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { Kvp } from './kvp.ts';

/** `cached=false`, as GeoWebCache's clients ask for a picture straight from the source. The layer must allow it. */
export function bypassAsked(asked: Kvp, tiles: ResolvedTileSet): ResolvedTileSet {
  if (asked('CACHED')?.toLowerCase() !== 'false') return tiles;
  const { layer } = tiles.bound;
  if (layer.cacheBypass) return { ...tiles, bypass: true };
  throw invalid(`Layer ${layer.name} is not configured to allow bypassing the cache.`);
}
