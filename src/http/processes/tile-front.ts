import { subsetContains } from '../../domain/grid-subset.ts';
import { PAGE_SIZE, type TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { isFresh } from '../../pipeline/freshness.ts';
import { MemoryTier } from '../../pipeline/memory-tier.ts';
import type { ResolvedTileSet, TileAnswer, TilePipeline } from '../../pipeline/tile-pipeline.ts';
import { type PageName, type PageUse, PageUses } from '../../quota/page-uses.ts';
import type { Forgotten, PageServed, TileAsked } from './process-messages.ts';

export interface TileFrontOptions {
  readonly memoryTierBytes: number;
  /** Asks the primary, which makes what is not there. */
  readonly ask: (asked: TileAsked, signal: AbortSignal | undefined) => Promise<TileAnswer>;
  readonly clock: Clock;
}

export interface TileFront extends Pick<TilePipeline, 'read'> {
  forget(forgotten: Forgotten): void;
  /** The pages of which tiles were answered here, since the last call. */
  takePages(): readonly PageServed[];
}

/** What a process needs of the road of a tile: fresh tiles in memory or in the store it answers, for others it asks. */
export function createTileFront({ memoryTierBytes, ask, clock }: TileFrontOptions): TileFront {
  const tier = new MemoryTier(memoryTierBytes);
  let uses = new PageUses();

  function load(tiles: ResolvedTileSet, tile: TileIndex, now: number): TileAnswer | null {
    const { store } = tiles.bound;
    if (!store.getNow || !subsetContains(tiles.subset, tile.z, tile.x, tile.y)) return null;
    const found = store.getNow(tiles.set, tile);
    return found && isFresh(tiles, tile.z, found, now) ? tier.put(tiles.set, tile, found) : null;
  }

  /** A tile that the primary had is kept, unless it was replaced or removed on its way: not every store answers at once. */
  async function fetch(
    tiles: ResolvedTileSet,
    tile: TileIndex,
    signal: AbortSignal | undefined,
  ): Promise<TileAnswer> {
    const { set, selection, bypass = false } = tiles;
    const load = tier.beginLoad(set, tile);
    let found: Parameters<MemoryTier['endLoad']>[1] = null;
    try {
      const answer = await ask({ set, parameters: selection.values, tile, bypass }, signal);
      // A copy: the bytes are part of the whole message.
      if (answer.outcome === 'HIT') found = { ...answer, bytes: Buffer.from(answer.bytes), madeBy: null };
      return answer;
    } finally {
      tier.endLoad(load, found);
    }
  }

  return {
    read(tiles, tile, signal) {
      const now = clock.now();
      const kept = tier.get(tiles.set, tile);
      const answer = kept && isFresh(tiles, tile.z, kept, now) ? kept : load(tiles, tile, now);
      if (!answer) return fetch(tiles, tile, signal);
      uses.count(tiles.set, tile, now);
      return answer;
    },
    forget(forgotten) {
      if ('layer' in forgotten) tier.dropLayer(forgotten.layer);
      else tier.drop(forgotten.set, forgotten.z, forgotten.rect);
    },
    takePages() {
      const taken = uses.takeUnsaved(Number.POSITIVE_INFINITY);
      uses = new PageUses();
      return taken.map(pageServed);
    },
  };
}

function pageServed({ set, z, pageX, pageY, hits, lastUsedAt }: PageName & PageUse): PageServed {
  return { set, tile: { z, x: pageX * PAGE_SIZE, y: pageY * PAGE_SIZE }, times: hits, at: lastUsedAt };
}
