import { setMaxListeners } from 'node:events';

/** Settles as the promise does, or rejects with the signal's reason, whichever comes first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  // One signal may stop many waits; each takes its listener away again.
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const settled = () => signal.removeEventListener('abort', abort);
    promise.finally(settled).then(resolve, reject);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
  });
}
