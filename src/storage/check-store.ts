import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { TileStore } from './tile-store.ts';

/** No layer can be called so: its generation belongs to the check alone. */
const CANARY = '';

/** Writes durably and reads back. A full disk is no failure: tiles are then served without being stored. */
export async function checkStore(store: TileStore): Promise<void> {
  const written = await raise(store);
  if (written === null || (await store.generation(CANARY)) >= written) return;
  throw new TilewardenError('store-failed', 'The tile store does not read back what was written.');
}

async function raise(store: TileStore): Promise<number | null> {
  try {
    return await store.raiseGeneration(CANARY);
  } catch (error) {
    if (isTilewardenError(error, 'store-full')) return null;
    throw error;
  }
}
