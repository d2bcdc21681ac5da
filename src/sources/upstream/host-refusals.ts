import { TilewardenError } from '../../domain/errors.ts';
import { HostClosed, type HostClosing } from '../../domain/upstream-status.ts';
import type { BreakerClosing } from '../../lib/breaker.ts';

/** When a client may ask again while the host is paused by an operator: its end is not known. */
export const PAUSED_RETRY_MS = 60_000;

/** `wallTime`: of a moment on the monotonic clock, in milliseconds since 1970. */
export function closingOf(
  { reason, failure, since, until }: BreakerClosing,
  wallTime: (moment: number) => number,
): HostClosing {
  return {
    reason,
    until: wallTime(until),
    ...(failure !== null && { failure }),
    ...(since !== null && { since: wallTime(since) }),
  };
}

export function closedRefusal(host: string, closing: HostClosing, now: number): TilewardenError {
  const { reason, until } = closing;
  const retryAfterSeconds = Math.max(1, Math.ceil((until - now) / 1000));
  return new TilewardenError('source-busy', textOf(reason), {
    reason,
    retryAfterSeconds,
    cause: new HostClosed(host, closing),
  });
}

export function busyRefusal(waiting: number, perSecond: number): TilewardenError {
  return new TilewardenError('source-busy', 'Too many requests are waiting for the map source.', {
    retryAfterSeconds: Math.min(60, Math.max(1, Math.ceil(waiting / perSecond))),
  });
}

export function stoppingRefusal(): TilewardenError {
  return new TilewardenError('source-unavailable', 'The server is stopping.', { reason: 'stopping' });
}

function textOf(reason: HostClosing['reason']): string {
  if (reason === 'failing') return 'The map source is failing; it is retried soon.';
  return reason === 'paused' ? 'An operator has paused the map source.' : 'The map source is paused.';
}
