import type { TileEvents } from '../domain/tile-events.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import { isKept } from '../pipeline/freshness.ts';
import { metatileWith } from '../pipeline/resolve-tile-set.ts';
import type { CachedTile, ResolvedTileSet, TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { Removals } from './removals.ts';

interface RefreshParts {
  readonly pipeline: Pick<TilePipeline, 'read' | 'renew' | 'forget'>;
  readonly removals: Pick<Removals, 'replaced'>;
  readonly events: TileEvents;
  readonly flush: () => Promise<void>;
  readonly clock: Clock;
}

/** Makes a tile now, with its metatile, and replaces the cached ones, here and in a CDN. */
export function createTileRefresh({ pipeline, removals, events, flush, clock }: RefreshParts) {
  return async (tiles: ResolvedTileSet, index: TileIndex, signal: AbortSignal): Promise<CachedTile> => {
    const { z } = index;
    if (!isKept(tiles, z)) return pipeline.read(tiles, index, signal);
    const metatile = metatileWith(tiles, index);
    await pipeline.renew({ tiles, metatile, within: metatile.rect, mode: 'all', signal });
    pipeline.forget(tiles.set, z, metatile.rect);
    const { layer, gridSet } = tiles.set;
    const places = [{ gridSet, z, rect: metatile.rect }];
    events.emit({ type: 'outdated', layer, places, at: clock.now() });
    await flush();
    await removals.replaced(layer, places);
    return { ...(await pipeline.read(tiles, index, signal)), outcome: 'MISS' };
  };
}
