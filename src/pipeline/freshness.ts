import { cacheSecondsAt, type Layer, MAX_CLOCK_LEAD_MS, NOT_KEPT } from '../domain/layer.ts';
import type { StoredTile } from '../storage/store.ts';
import type { ResolvedTileSet } from './tile-pipeline.ts';

type TileTimes = Pick<StoredTile, 'createdAt' | 'freshUntil'>;

type Kept = Pick<ResolvedTileSet, 'bound' | 'subset' | 'bypass'>;

/** Whether tiles of that zoom are cached: read from memory and store, and written there. */
export function isKept({ bound, subset, bypass }: Kept, z: number): boolean {
  if (bypass || bound.layer.passCredentials || z < subset.cachedStart || z > subset.cachedStop) return false;
  return cacheSecondsAt(bound.layer, z) !== NOT_KEPT;
}

/** The earliest creation time of a fresh tile of that zoom, in milliseconds since 1970. */
export function freshSince(layer: Layer, z: number, now: number): number {
  const seconds = cacheSecondsAt(layer, z);
  return seconds === null ? 0 : now - seconds * 1000;
}

/** When the tile stops or stopped being fresh; null: never. */
export function freshUntil(
  layer: Layer,
  z: number,
  { createdAt, freshUntil: marked }: TileTimes,
): number | null {
  const seconds = cacheSecondsAt(layer, z);
  const byAge = seconds === null ? null : createdAt + seconds * 1000;
  const ended = marked === null ? null : Math.abs(marked);
  if (byAge === null || ended === null) return byAge ?? ended;
  return Math.min(byAge, ended);
}

/** Tiles that are not cached are never fresh. */
export function isFresh(tiles: Kept, z: number, tile: TileTimes, now: number): boolean {
  if (!isKept(tiles, z)) return false;
  if (tile.freshUntil !== null && tile.freshUntil <= now) return false;
  if (tile.createdAt > now + MAX_CLOCK_LEAD_MS) return false;
  return tile.createdAt >= freshSince(tiles.bound.layer, z, now);
}

/** Whether a stale tile is served immediately and renewed in the background. */
export function mayServeWhileRenewing(layer: Layer, z: number, tile: TileTimes, now: number): boolean {
  if (isOutdated(tile)) return false;
  return staleFor(layer, z, tile, now) < layer.staleWhileRevalidateSeconds * 1000;
}

/** Whether a stale tile is served if its source fails. */
export function mayServeAfterFailure(layer: Layer, z: number, tile: TileTimes, now: number): boolean {
  return staleFor(layer, z, tile, now) < layer.staleIfErrorSeconds * 1000;
}

/** Whether a stale tile is served on a layer whose source clients' requests may not query. */
export function mayServeWithoutSource(layer: Layer, z: number, tile: TileTimes, now: number): boolean {
  return mayServeWhileRenewing(layer, z, tile, now) || mayServeAfterFailure(layer, z, tile, now);
}

/** Whether the picture lacks a known change: `freshUntil` is negative then. */
function isOutdated({ freshUntil: marked }: TileTimes): boolean {
  return marked !== null && marked < 0;
}

/** Milliseconds for which a tile has been stale. */
function staleFor(layer: Layer, z: number, tile: TileTimes, now: number): number {
  const until = freshUntil(layer, z, tile);
  return until === null ? 0 : Math.max(0, now - until);
}
