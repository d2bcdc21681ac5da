import { setMaxListeners } from 'node:events';
import { TilewardenError } from '../domain/errors.ts';

/** Aborts the requests of an object, such as a source, when it is closed. */
export function createSourceLife(closedMessage = 'The map source is closed.') {
  const closing = new AbortController();
  return {
    /** Runs `work` under a signal that aborts with the caller's, or when the source is closed. */
    async during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const link = linkAbort(signal, closing.signal);
      try {
        link.signal.throwIfAborted();
        return await work(link.signal);
      } finally {
        link.release();
      }
    },
    end(): void {
      closing.abort(new TilewardenError('source-unavailable', closedMessage, { reason: 'stopping' }));
    },
  };
}

/**
 * Aborts as soon as one of the signals does, with its reason. Unlike AbortSignal.any it leaves nothing behind, once
 * `release` is called, on a signal that lives as long as the server.
 */
export function linkAbort(...signals: readonly [AbortSignal, ...AbortSignal[]]) {
  const controller = new AbortController();
  const links = signals.map((signal) => ({ signal, stop: () => controller.abort(signal.reason) }));
  // All concurrent requests listen to one signal; Node.js warns at eleven.
  setMaxListeners(0, ...signals);
  for (const { signal, stop } of links) {
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  }
  return {
    signal: controller.signal,
    abort: (reason: unknown): void => controller.abort(reason),
    release(): void {
      for (const { signal, stop } of links) signal.removeEventListener('abort', stop);
    },
  };
}
