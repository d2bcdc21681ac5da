import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';

/** What the index is asked comes through here: a database that is away is a store that fails. */
export async function askIndex<Answer>(question: () => Promise<Answer>): Promise<Answer> {
  try {
    return await question();
  } catch (cause) {
    if (isTilewardenError(cause)) throw cause;
    throw new TilewardenError('store-failed', 'The database that lists the stored tiles does not answer.', {
      cause,
    });
  }
}
