import { isTilewardenError } from './errors.ts';

/** What stands before a map server says so when there is nobody behind it. */
const NOBODY_THERE = [502, 503, 504];

/** Nobody is there to be asked: what was asked for is not to blame, and anything else would have fared the same. */
export function isHostAway(error: unknown): boolean {
  if (!isTilewardenError(error, 'source-unavailable')) return false;
  return error.reason === 'connection' || NOBODY_THERE.includes(statusOf(error.cause));
}

/** What a server answered instead of what was asked for; 0 when it did not answer. */
export function statusOf(cause: unknown): number {
  return cause instanceof Error && 'status' in cause ? Number(cause.status) : 0;
}
