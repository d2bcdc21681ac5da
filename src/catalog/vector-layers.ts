import { isTilewardenError } from '../domain/errors.ts';
import type { BoundLayer } from './catalog.ts';

/** Vector layers as in TileJSON, if the source has a list; none while it is unreadable. */
export async function vectorLayersOf(
  bound: Pick<BoundLayer, 'source'>,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  try {
    return (await bound.source().vectorLayers?.(signal)) ?? [];
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    return [];
  }
}
