import { type ErrorCode, isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { HostClosed, hostClosedIn } from '../../domain/host-closed.ts';
import type { HostClosing } from '../../domain/upstream-status.ts';
import type { Permit, RequestEnd, UpstreamDesk, UpstreamPriority } from './upstream-desk.ts';

/** From a worker to the desk of its server. */
type ToDesk =
  | {
      readonly type: 'desk-enter';
      readonly id: number;
      readonly host: string;
      readonly priority: UpstreamPriority;
      readonly again?: boolean;
    }
  /** Nobody waits any more; whether it was let in meanwhile is not known. */
  | { readonly type: 'desk-leave'; readonly id: number }
  | { readonly type: 'desk-end'; readonly id: number; readonly end: RequestEnd };

type FromDesk =
  | { readonly type: 'desk-granted'; readonly id: number }
  /** The place is taken back; nothing is to be said about its end. */
  | { readonly type: 'desk-revoked'; readonly id: number }
  | { readonly type: 'desk-refused'; readonly id: number; readonly refusal: Refusal };

interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly reason: string | null;
  readonly retryAfterSeconds: number | null;
  readonly closed: { readonly host: string; readonly closing: HostClosing } | null;
}

/** The part of `process` that a forked worker speaks through. */
export interface DeskLineChannel {
  send?(message: ToDesk, handle: undefined, options: undefined, sent: () => void): boolean;
  on(event: 'message', listener: (message: FromDesk | { readonly type: string }) => void): unknown;
}

/** The part of a worker's process that the server speaks to. */
export interface DeskClient {
  readonly connected: boolean;
  send(message: FromDesk, sent: () => void): boolean;
  on(event: 'message', listener: (message: ToDesk | { readonly type: string }) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
}

interface Waiting {
  readonly admit: (permit: Permit) => void;
  readonly refuse: (error: unknown) => void;
}

/** The desk as a worker sees it: each request asks the server first. */
export function openDeskLine(channel: DeskLineChannel): UpstreamDesk {
  const waiting = new Map<number, Waiting>();
  const held = new Map<number, AbortController>();
  let requests = 0;
  // A server that has just died cannot be told; the end of the channel ends this process.
  const tell = (message: ToDesk) => channel.send?.(message, undefined, undefined, () => {});

  channel.on('message', (message) => {
    if (!isFromDesk(message)) return;
    const waiter = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === 'desk-refused') waiter?.refuse(errorOf(message.refusal));
    if (message.type === 'desk-granted') waiter?.admit(hold(message.id));
    if (message.type === 'desk-revoked') held.get(message.id)?.abort();
  });

  function hold(id: number): Permit {
    const revocation = new AbortController();
    held.set(id, revocation);
    const end = (how: RequestEnd) => {
      held.delete(id);
      if (!revocation.signal.aborted) tell({ type: 'desk-end', id, end: how });
    };
    return { end, revoked: revocation.signal };
  }

  return {
    enter(host, priority, signal, again = false) {
      const id = ++requests;
      return new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const leave = () => {
          waiting.delete(id);
          tell({ type: 'desk-leave', id });
          reject(signal.reason);
        };
        const settle = () => signal.removeEventListener('abort', leave);
        const admit = (permit: Permit) => {
          settle();
          resolve(permit);
        };
        const refuse = (error: unknown) => {
          settle();
          reject(error);
        };
        waiting.set(id, { admit, refuse });
        signal.addEventListener('abort', leave, { once: true });
        tell({ type: 'desk-enter', id, host, priority, again });
      });
    },
  };
}

/** Lets a worker process use the server's desk. What it held is given back when it dies. */
export function serveDesk(desk: UpstreamDesk, worker: DeskClient): void {
  const gone = new AbortController();
  const visits = new Map<number, { readonly leave: AbortController; permit: Permit | null }>();
  const tell = (message: FromDesk) => {
    if (worker.connected) worker.send(message, () => {});
  };

  async function enter({
    id,
    host,
    priority,
    again,
  }: Extract<ToDesk, { type: 'desk-enter' }>): Promise<void> {
    const visit: { leave: AbortController; permit: Permit | null } = {
      leave: new AbortController(),
      permit: null,
    };
    visits.set(id, visit);
    try {
      visit.permit = await desk.enter(host, priority, visit.leave.signal, again);
      if (visit.leave.signal.aborted) return finish(id, LEFT);
      tell({ type: 'desk-granted', id });
      visit.permit.revoked.addEventListener('abort', () => revoke(id), { once: true });
    } catch (error) {
      visits.delete(id);
      if (!visit.leave.signal.aborted) tell({ type: 'desk-refused', id, refusal: refusalOf(error) });
    }
  }

  function finish(id: number, end: RequestEnd): void {
    const visit = visits.get(id);
    visits.delete(id);
    visit?.permit?.end(end);
  }

  function revoke(id: number): void {
    visits.delete(id);
    tell({ type: 'desk-revoked', id });
  }

  function leave(id: number): void {
    visits.get(id)?.leave.abort();
    if (visits.get(id)?.permit) finish(id, LEFT);
  }

  worker.on('message', (message) => {
    if (!isToDesk(message) || gone.signal.aborted) return;
    if (message.type === 'desk-enter') void enter(message);
    if (message.type === 'desk-leave') leave(message.id);
    if (message.type === 'desk-end') finish(message.id, message.end);
  });
  worker.once('exit', () => {
    gone.abort();
    for (const id of [...visits.keys()]) leave(id);
  });
}

const LEFT: RequestEnd = { kind: 'left', reason: null, ms: 0, retryAfterMs: null };

function isToDesk(message: { readonly type: string }): message is ToDesk {
  return ['desk-enter', 'desk-leave', 'desk-end'].includes(message.type);
}

function isFromDesk(message: { readonly type: string }): message is FromDesk {
  return ['desk-granted', 'desk-refused', 'desk-revoked'].includes(message.type);
}

function refusalOf(error: unknown): Refusal {
  if (!isTilewardenError(error)) {
    const message = 'The map source cannot be asked.';
    return {
      code: 'source-unavailable',
      message,
      reason: 'unexpected',
      retryAfterSeconds: null,
      closed: null,
    };
  }
  const { code, message, reason, retryAfterSeconds } = error;
  const closed = hostClosedIn(error);
  return {
    code,
    message,
    reason,
    retryAfterSeconds,
    closed: closed && { host: closed.host, closing: closed.closing },
  };
}

function errorOf({ code, message, reason, retryAfterSeconds, closed }: Refusal): TilewardenError {
  return new TilewardenError(code, message, {
    ...(reason !== null && { reason }),
    ...(retryAfterSeconds !== null && { retryAfterSeconds }),
    ...(closed && { cause: new HostClosed(closed.host, closed.closing) }),
  });
}
