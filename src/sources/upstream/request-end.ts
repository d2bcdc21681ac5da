import { isTilewardenError, type TilewardenError } from '../../domain/errors.ts';
import type { RequestEnd } from './upstream-desk.ts';
import { BadStatus } from './upstream-failure.ts';

const TOO_MUCH = [429, 503];

/** What the end of a request says about its host; `failure` is null when all went well. */
export function endOf(failure: unknown, ms: number): RequestEnd {
  if (failure === null) return { kind: 'answered', reason: null, ms, retryAfterMs: null };
  if (!isTilewardenError(failure) || failure.reason === 'stopping') {
    return { kind: 'left', reason: null, ms, retryAfterMs: null };
  }
  const retryAfterMs = failure.retryAfterSeconds === null ? null : failure.retryAfterSeconds * 1000;
  return { kind: kindOf(failure), reason: reasonOf(failure), ms, retryAfterMs };
}

function kindOf({ code, reason, cause }: TilewardenError): RequestEnd['kind'] {
  if (reason === 'address-refused' || code === 'source-bad-answer') return 'refused';
  if (cause instanceof BadStatus && TOO_MUCH.includes(cause.status)) return 'overloaded';
  // The pipeline has waited long enough; the host has not answered.
  return 'failed';
}

/** There are as many reasons as statuses, at most. */
function reasonOf({ code, reason, cause }: TilewardenError): string {
  if (cause instanceof BadStatus) return `status-${cause.status}`;
  return code === 'source-timeout' ? 'timeout' : (reason ?? code);
}
