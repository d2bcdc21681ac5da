import { TilewardenError } from '../domain/errors.ts';
import { linkAbort } from './upstream/linked-abort.ts';

/** The time between the opening and the closing of what answers requests. */
export function createSourceLife(ended = 'The map source is closed.') {
  const closing = new AbortController();
  return {
    /** Does the work under a signal that aborts with the caller's, or when the source is closed. */
    async during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const stop = linkAbort(signal, closing.signal);
      try {
        stop.signal.throwIfAborted();
        return await work(stop.signal);
      } finally {
        stop.release();
      }
    },
    end(): void {
      closing.abort(new TilewardenError('source-unavailable', ended, { reason: 'stopping' }));
    },
  };
}
