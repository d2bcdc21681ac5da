import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

export interface RetryOptions {
  /** How often the task is tried in all, from 1. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal?: AbortSignal;
  /** False ends the trying at once. Not asked after the last attempt. */
  readonly shouldRetry?: (error: unknown, attempt: number) => boolean;
  /** A wait that the failure itself asks for, in milliseconds; the longer of it and the backoff counts. */
  readonly delayAskedBy?: (error: unknown) => number | null;
}

/**
 * Tries until the task succeeds, with pauses that double and are spread between half and all of their length.
 * Fails with the last attempt's error, or with the signal's reason when it aborts.
 */
export async function retry<T>(task: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, signal, clock } = options;
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await task(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      const goOn = attempt < attempts && (options.shouldRetry?.(error, attempt) ?? true);
      if (!goOn) throw error;
      const asked = options.delayAskedBy?.(error) ?? 0;
      await clock.sleep(Math.max(asked, backoffMs(attempt, options)), signal);
    }
  }
}

function backoffMs(attempt: number, { firstDelayMs, maxDelayMs, random }: RetryOptions): number {
  const whole = Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs);
  return whole * (0.5 + random() / 2);
}
