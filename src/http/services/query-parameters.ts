import { invalid, TilewardenError } from '../../domain/errors.ts';
import type { ParameterFilter } from '../../domain/parameter-filter.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { Kvp } from './kvp.ts';

const NONE: ReadonlyMap<string, string> = new Map();

/** What of a query the layer's filters know, names in upper case. The rest means nothing to us and is left out. */
export function parametersOf(
  query: string,
  filters: readonly ParameterFilter[],
): ReadonlyMap<string, string> {
  if (query === '' || filters.length === 0) return NONE;
  const known = new Set(filters.map((filter) => filter.name));
  const found = new Map<string, string>();
  for (const [key, value] of new URLSearchParams(query)) {
    const name = key.toUpperCase();
    if (!known.has(name)) continue;
    if (found.has(name))
      throw new TilewardenError('parameter-refused', `The parameter ${name} is given twice.`);
    found.set(name, value);
  }
  return found;
}

/** `cached=false`, as GeoWebCache's clients ask for a picture straight from the source. The layer must allow it. */
export function bypassAsked(asked: Kvp, tiles: ResolvedTileSet): ResolvedTileSet {
  if (asked('CACHED')?.toLowerCase() !== 'false') return tiles;
  const { layer } = tiles.bound;
  if (layer.cacheBypass) return { ...tiles, bypass: true };
  throw invalid(`Layer ${layer.name} is not configured to allow bypassing the cache.`);
}
