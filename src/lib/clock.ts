/** The injected clock. Durations are measured with `monotonic`, never with `now`. */
export interface Clock {
  /** Wall-clock milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never run backwards; only differences mean something. */
  monotonic(): number;
  /** Rejects with the signal's reason when it aborts. A negative time counts as 0. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  /** Without the errors that Node.js makes for each sleep that ends early: nearly all of ours do. */
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const end = () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      };
      const timer = setTimeout(end, Math.max(0, ms));
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

/** Calls `late` when the work takes longer than so many milliseconds. */
export async function ifLate<Result>(
  clock: Clock,
  ms: number,
  late: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  clock.sleep(ms, done.signal).then(late, () => {});
  try {
    return await work();
  } finally {
    // An explicit reason saves the cost of a DOMException.
    done.abort('done');
  }
}

/** ISO 8601, in UTC. */
export function isoTime(milliseconds: number): string;
export function isoTime(milliseconds: number | null): string | null;
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
