import { type BoundLayer, storesOf } from '../catalog/catalog.ts';
import { isTilewardenError } from '../domain/errors.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { MarkEffect, TilePlace } from '../storage/tile-store.ts';
import type { TileSelection } from './tile-selection.ts';

interface TilesMark {
  /** Null: the whole layer. */
  readonly places: readonly TilePlace[] | null;
  readonly effect: MarkEffect;
  /** As in `forgetPlaces`. */
  readonly above?: Parameters<TilePipeline['forgetPlaces']>[2];
}

interface MarkedTiles {
  /** The layer's generation in each store, by name. */
  readonly raised: ReadonlyMap<string, number>;
  /** False: a full disk has no room for a mark, so that readers of a store see tiles until they are removed. */
  readonly marked: boolean;
}

/**
 * The only way in which tiles are hidden, or outdated: in every store that may hold some of the layer, then in memory and
 * under way, here and in every process and node.
 */
export async function markTiles(
  pipeline: Pick<TilePipeline, 'forgetPlaces'>,
  bound: BoundLayer,
  { places, effect, above }: TilesMark,
): Promise<MarkedTiles> {
  const { name } = bound.layer;
  const raised = new Map<string, number>();
  let marked = true;
  for (const [key, store] of storesOf(bound)) {
    const raise = (on?: MarkEffect) => store.raiseGeneration(name, places, on);
    const number = await raise(effect).catch((error: unknown) => {
      if (effect.type !== 'hide' || !isTilewardenError(error, 'store-full')) throw error;
      marked = false;
      return raise();
    });
    raised.set(key, number);
  }
  pipeline.forgetPlaces(name, places ?? undefined, above);
  return { raised, marked };
}

export function effectOf(
  { formats, parametersId, olderThan }: TileSelection,
  type: MarkEffect['type'],
  at: number,
): MarkEffect {
  return {
    type,
    at,
    ...(formats && { formats }),
    ...(parametersId !== undefined && { parametersId }),
    ...(olderThan !== undefined && { createdBefore: olderThan }),
  };
}
