import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { type Channel, messageKind } from '../../lib/channel.ts';
import type { Permit, RequestEnd, UpstreamLimiter, UpstreamPriority } from './upstream-limiter.ts';

interface Acquisition {
  readonly id: number;
  readonly host: string;
  readonly priority: UpstreamPriority;
  readonly again: boolean;
}

const ACQUIRE = messageKind<Acquisition>('limiter-acquire');
const END = messageKind<{ readonly id: number; readonly end: RequestEnd }>('limiter-end');
/** The place is revoked; its end is not reported. */
const REVOKED = messageKind<{ readonly id: number }>('limiter-revoked');

const LEFT: RequestEnd = { kind: 'left', reason: null, ms: 0, retryAfterMs: null };

/** The limiter as a worker sees it: each request asks the server first. */
export function openLimiterChannel(channel: Channel): UpstreamLimiter {
  const held = new Map<number, AbortController>();
  let requests = 0;
  channel.handle(REVOKED, ({ id }) => held.get(id)?.abort());

  function hold(id: number): Permit {
    const revocation = new AbortController();
    held.set(id, revocation);
    const end = (how: RequestEnd) => {
      held.delete(id);
      if (!revocation.signal.aborted) channel.tell(END, { id, end: how });
    };
    return { end, revoked: revocation.signal };
  }

  return {
    async acquire(host, priority, signal, again = false) {
      const id = ++requests;
      try {
        await channel.ask(ACQUIRE, { id, host, priority, again }, signal);
      } catch (error) {
        // It may have been admitted in the meantime; this side cannot know.
        if (signal.aborted) channel.tell(END, { id, end: LEFT });
        throw error;
      }
      return hold(id);
    },
  };
}

/** Lets a worker process use the server's limiter. Its places are released when it dies. */
export function serveLimiter(limiter: UpstreamLimiter, channel: Channel): void {
  const permits = new Map<number, Permit>();

  channel.handle(ACQUIRE, async ({ id, host, priority, again }, signal) => {
    const permit = await limiter.acquire(host, priority, signal, again).catch((error: unknown) => {
      throw isTilewardenError(error) ? error : limiterRefusal(error);
    });
    if (signal.aborted || channel.closed.aborted) return permit.end(LEFT);
    permits.set(id, permit);
    permit.revoked.addEventListener('abort', () => revoke(id), { once: true });
  });
  channel.handle(END, ({ id, end }) => {
    permits.get(id)?.end(end);
    permits.delete(id);
  });
  channel.closed.addEventListener('abort', () => {
    for (const permit of permits.values()) permit.end(LEFT);
    permits.clear();
  });

  function revoke(id: number): void {
    permits.delete(id);
    channel.tell(REVOKED, { id });
  }
}

function limiterRefusal(cause: unknown): TilewardenError {
  const details = { cause, reason: 'unexpected' };
  return new TilewardenError('source-unavailable', 'No request could be sent to the map source.', details);
}
