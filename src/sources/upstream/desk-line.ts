import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { type Channel, messageKind } from '../../lib/channel.ts';
import type { Permit, RequestEnd, UpstreamDesk, UpstreamPriority } from './upstream-desk.ts';

interface Entering {
  readonly id: number;
  readonly host: string;
  readonly priority: UpstreamPriority;
  readonly again: boolean;
}

const ENTER = messageKind<Entering>('desk-enter');
const END = messageKind<{ readonly id: number; readonly end: RequestEnd }>('desk-end');
/** The place is taken back; nothing is to be said about its end. */
const REVOKED = messageKind<{ readonly id: number }>('desk-revoked');

const LEFT: RequestEnd = { kind: 'left', reason: null, ms: 0, retryAfterMs: null };

/** The desk as a worker sees it: each request asks the server first. */
export function openDeskLine(channel: Channel): UpstreamDesk {
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
    async enter(host, priority, signal, again = false) {
      const id = ++requests;
      try {
        await channel.ask(ENTER, { id, host, priority, again }, signal);
      } catch (error) {
        // It may have been admitted in the meantime; this side cannot know.
        if (signal.aborted) channel.tell(END, { id, end: LEFT });
        throw error;
      }
      return hold(id);
    },
  };
}

/** Lets a worker process use the server's desk. What it held is given back when it dies. */
export function serveDesk(desk: UpstreamDesk, channel: Channel): void {
  const permits = new Map<number, Permit>();

  channel.handle(ENTER, async ({ id, host, priority, again }, signal) => {
    const permit = await desk.enter(host, priority, signal, again).catch((error: unknown) => {
      throw isTilewardenError(error) ? error : refusal(error);
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

function refusal(cause: unknown): TilewardenError {
  const details = { cause, reason: 'unexpected' };
  return new TilewardenError('source-unavailable', 'No request could be sent to the map source.', details);
}
