import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** Dependencies of nearly every long-lived object, which tests replace. */
export interface Env {
  readonly clock: Clock;
  readonly log: Logger;
}
