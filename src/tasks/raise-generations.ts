import { isTilewardenError } from '../domain/errors.ts';
import type { MarkEffect, TilePlace, TileStore } from '../storage/tile-store.ts';

/** In every store that may hold tiles of the layer: its generation there, for each. Places null: the whole layer. */
export async function raiseGenerations<Key>(
  stores: Iterable<readonly [Key, TileStore]>,
  layer: string,
  places: readonly TilePlace[] | null,
  effect?: MarkEffect,
): Promise<ReadonlyMap<Key, number>> {
  const raised = new Map<Key, number>();
  for (const [key, store] of stores) raised.set(key, await raise(store, layer, places, effect));
  return raised;
}

/** A full disk may have no room for a mark. What is to be removed is removed all the same: that makes room. */
async function raise(
  store: TileStore,
  layer: string,
  places: readonly TilePlace[] | null,
  effect?: MarkEffect,
): Promise<number> {
  try {
    return await store.raiseGeneration(layer, places, effect);
  } catch (error) {
    if (effect?.type !== 'hide' || !isTilewardenError(error, 'store-full')) throw error;
    return store.raiseGeneration(layer, places);
  }
}
