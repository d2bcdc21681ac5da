import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { type Channel, messageKind } from '../../lib/channel.ts';
import type { Permit, RequestEnd, UpstreamLimiter, UpstreamPriority } from './upstream-limiter.ts';

interface Acquisition {
  readonly id: number;
  readonly host: string;
  readonly priority: UpstreamPriority;
}

const ACQUIRE = messageKind<Acquisition>('limiter-acquire');
const END = messageKind<{ readonly id: number; readonly end: RequestEnd }>('limiter-end');

const LEFT: RequestEnd = { kind: 'left', reason: null, ms: 0, retryAfterMs: null };

/** The limiter as a worker sees it: each request asks the server first. */
export function openLimiterChannel(channel: Channel): UpstreamLimiter {
  let requests = 0;
  return {
    async acquire(host, priority, signal) {
      const id = ++requests;
      try {
        await channel.ask(ACQUIRE, { id, host, priority }, signal);
      } catch (error) {
        // It may have been admitted in the meantime; this side cannot know.
        if (signal.aborted) channel.tell(END, { id, end: LEFT });
        throw error;
      }
      return { end: (end) => channel.tell(END, { id, end }) };
    },
  };
}

/** Lets a worker process use the server's limiter. Its places are released when it dies. */
export function serveLimiter(limiter: UpstreamLimiter, channel: Channel): void {
  const permits = new Map<number, Permit>();

  channel.handle(ACQUIRE, async ({ id, host, priority }, signal) => {
    const permit = await limiter.acquire(host, priority, signal).catch((error: unknown) => {
      throw isTilewardenError(error) ? error : limiterRefusal(error);
    });
    if (signal.aborted || channel.closed.aborted) return permit.end(LEFT);
    permits.set(id, permit);
  });
  channel.handle(END, ({ id, end }) => {
    permits.get(id)?.end(end);
    permits.delete(id);
  });
  channel.closed.addEventListener('abort', () => {
    for (const permit of permits.values()) permit.end(LEFT);
    permits.clear();
  });
}

function limiterRefusal(cause: unknown): TilewardenError {
  const details = { cause, reason: 'unexpected' };
  return new TilewardenError('source-unavailable', 'No request could be sent to the map source.', details);
}
