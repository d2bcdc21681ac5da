import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

export type RateLimitedWarning = (error: unknown, message: string) => void;

/** Warns once per interval and message, with the number of suppressed warnings. */
export function createRateLimitedWarning(log: Logger, clock: Clock, intervalMs: number): RateLimitedWarning {
  const states = new Map<string, { nextAt: number; count: number }>();
  return (error, message) => {
    const now = clock.monotonic();
    const state = states.get(message) ?? { nextAt: now, count: 0 };
    states.set(message, state);
    if (now < state.nextAt) {
      state.count++;
      return;
    }
    log.warn({ err: error, suppressed: state.count }, message);
    state.nextAt = now + intervalMs;
    state.count = 0;
  };
}
