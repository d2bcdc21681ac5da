import { setMaxListeners } from 'node:events';

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** A failure without a listener must not count as an unhandled rejection. */
export function createDeferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** Settles as the promise does, or rejects with the signal's reason, whichever comes first; `left` is called before. */
export function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  left?: (reason: unknown) => void,
): Promise<T> {
  if (!signal) return promise;
  // One signal may stop many waits; each takes its listener away again.
  setMaxListeners(0, signal);
  return new Promise((resolve, reject) => {
    const abort = () => {
      left?.(signal.reason);
      reject(signal.reason);
    };
    const unlisten = () => signal.removeEventListener('abort', abort);
    promise.finally(unlisten).then(resolve, reject);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
  });
}
