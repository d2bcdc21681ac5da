import { setTimeout as delay } from 'node:timers/promises';

/** Time as the house sees it. Durations are measured with `monotonic`, never with `now`. */
export interface Clock {
  /** Wall-clock milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never run backwards; only differences mean something. */
  monotonic(): number;
  /** Rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await delay(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  },
};
