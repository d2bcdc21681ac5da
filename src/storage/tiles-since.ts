import { type TileSetKey, tileSetId } from '../domain/tile-key.ts';
import type { Store, TilePlace } from './store.ts';

/** A text that changes whenever tiles of these places are truncated, or the tile set becomes that of another declaration. */
export async function tilesSince(
  store: Pick<Store, 'marks'>,
  set: TileSetKey,
  levels: readonly Omit<TilePlace, 'gridSet'>[],
): Promise<string> {
  const places = levels.map(({ z, rect }) => ({ gridSet: set.gridSet, z, rect }));
  const generations = await Promise.all(places.map((place) => store.marks(set.layer, place)));
  return JSON.stringify([tileSetId(set), Math.max(...generations)]);
}
