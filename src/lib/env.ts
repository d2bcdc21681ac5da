import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** What nearly everything that lives needs, and a test must be able to hold. */
export interface Env {
  readonly clock: Clock;
  readonly log: Logger;
}
