import { TilewardenError } from '../domain/errors.ts';
import type { Env } from '../lib/env.ts';

/** Milliseconds, and discarded tiles within them above which the store counts as failing. */
const [DOUBT_PERIOD, MAX_DOUBTS] = [60_000, 5];

/** Returns a function that counts a discarded tile, and throws `store-failed` if there were too many in a short time. */
export function createDoubts({ clock, log }: Env): () => void {
  let since = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    if (clock.monotonic() - since > DOUBT_PERIOD) [since, count] = [clock.monotonic(), 0];
    count++;
    if (count <= MAX_DOUBTS) return;
    if (count === MAX_DOUBTS + 1) {
      const text = 'many stored tiles are missing or damaged; the store is failing';
      log.error({ limit: MAX_DOUBTS }, text);
    }
    throw new TilewardenError('store-failed', 'The store lacks many of the tiles that it should have.');
  };
}
