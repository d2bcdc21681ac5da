import type { TilePlace, TileStore } from '../storage/tile-store.ts';

/** In every store that may hold tiles of the layer: its generation there, for each. */
export async function raiseGenerations<Key>(
  stores: Iterable<readonly [Key, TileStore]>,
  layer: string,
  places?: readonly TilePlace[],
): Promise<ReadonlyMap<Key, number>> {
  const raised = new Map<Key, number>();
  for (const [key, store] of stores) raised.set(key, await store.raiseGeneration(layer, places));
  return raised;
}
