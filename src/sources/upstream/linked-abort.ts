import { setMaxListeners } from 'node:events';

/**
 * Aborts as soon as one of the signals does, with its reason. Unlike AbortSignal.any it leaves nothing behind
 * on a signal that lives as long as the server.
 */
export function linkAbort(...signals: readonly AbortSignal[]) {
  const controller = new AbortController();
  const links = signals.map((signal) => ({ signal, stop: () => controller.abort(signal.reason) }));
  // As many requests listen to one signal as are under way; Node.js warns at eleven.
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
