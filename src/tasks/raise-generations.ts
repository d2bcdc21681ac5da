import { isTilewardenError } from '../domain/errors.ts';
import type { MarkEffect, TilePlace, TileStore } from '../storage/tile-store.ts';

/**
 * In every store that may hold tiles of the layer: its generation there, for each. Places null: the whole layer. A full
 * disk may have no room for a mark: `unmarked` is called, and what is to be hidden is removed all the same, which makes
 * room.
 */
export async function raiseGenerations<Key>(
  stores: Iterable<readonly [Key, TileStore]>,
  layer: string,
  places: readonly TilePlace[] | null,
  effect?: MarkEffect,
  unmarked: () => void = () => {},
): Promise<ReadonlyMap<Key, number>> {
  const raised = new Map<Key, number>();
  for (const [key, store] of stores) {
    const number = await store.raiseGeneration(layer, places, effect).catch((error: unknown) => {
      if (effect?.type !== 'hide' || !isTilewardenError(error, 'store-full')) throw error;
      unmarked();
      return store.raiseGeneration(layer, places);
    });
    raised.set(key, number);
  }
  return raised;
}
