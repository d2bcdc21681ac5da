import { isTilewardenError } from '../domain/errors.ts';
import type { BoundLayer } from './catalog.ts';

/** As in TileJSON, if the source has them; none while it cannot be read. */
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
