import { isTilewardenError, TilewardenError } from '../domain/errors.ts';
import type { Store } from './store.ts';

/** No layer can have this name, so only the check changes its generation. */
const CANARY = '';

/** Writes a mark durably and reads it back. A full disk is not a failure: tiles are then served without being stored. */
export async function checkStore(store: Store): Promise<void> {
  const written = await raise(store);
  if (written === null || (await store.marks(CANARY)) >= written) return;
  throw new TilewardenError('store-failed', 'The tile store does not read back what was written.');
}

async function raise(store: Store): Promise<number | null> {
  try {
    const raises = [{ layer: CANARY, places: null, effect: null }];
    return (await store.mark({ type: 'raise', raises }))[0] ?? null;
  } catch (error) {
    if (isTilewardenError(error, 'store-full')) return null;
    throw error;
  }
}
