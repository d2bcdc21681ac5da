import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../access/caller.ts';
import type { Logger } from '../../lib/logger.ts';
import { createOutbox, send } from '../answer/send.ts';
import { watchStream } from '../answer/stream-watch.ts';
import type { Answer } from '../answer.ts';
import { CallerGone, Exchange } from '../exchange.ts';
import type { HttpLimits } from '../limits.ts';
import { HttpProblem, problemOf } from '../problems.ts';
import type { Route } from '../route.ts';
import type { Access } from './access.ts';
import { type AuditSink, leavesTrace, noteDenial, withTrace } from './audit-trail.ts';
import { authenticate, refuseForeignLayer, refuseLesserRole, refuseUnsafe, sourceAddress } from './gate.ts';
import type { Router } from './router.ts';
import type { TrustsProxy } from './trusted-proxies.ts';
import { beginVisit, refuseExcess, routeOf, sharingOf, type Visit } from './visit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit | null;
  }
}

export interface DispatcherOptions {
  readonly router: Router;
  readonly access: Access;
  readonly audit: AuditSink;
  readonly trusts: TrustsProxy;
  readonly log: Logger;
  readonly limits: HttpLimits;
  /** Tells the request ids of this run from those of the last one. */
  readonly idPrefix: string;
}

export interface Dispatcher {
  /**
   * Answers a request whose body nobody reads. False: it is one with a body, which the framework reads and brings
   * back through the three below. Both ways lead past the same checks to the same handlers.
   */
  take(request: IncomingMessage, response: ServerResponse): boolean;
  /** Before the body is read: finds the route, asks who is calling, and refuses what needs no reading. */
  admit(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void;
  serve(request: FastifyRequest, reply: FastifyReply): void;
  fail(error: unknown, request: FastifyRequest, reply: FastifyReply): void;
  /** Ends the answers that would go on for ever; those that follow close their connections. */
  stop(): void;
}

/** How long the rest of a refused body is read and thrown away, so that its sender gets to see the answer. */
const LINGER_MS = 1000;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { router, access, audit, trusts, log, limits, idPrefix } = options;
  const stopping = new AbortController();
  const outbox = createOutbox();
  let stopped = false;
  let requests = 0;
  let adminRequests = 0;

  return {
    take(request, response) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false;
      try {
        if (stopped) response.setHeader('Connection', 'close');
        takeUp(beginVisit(request, router, nextId()), request, response);
      } catch (error) {
        // Thrown on, it would end the server.
        log.error({ err: error }, 'A request could not be answered');
        response.destroy();
      }
      return true;
    },

    admit(request, _reply, done) {
      const visit = beginVisit(request.raw, router, nextId());
      request.visit = visit;
      if (visit.match.role === 'public') {
        done(problemIn(() => admitAnybody(visit, request.raw)));
        return;
      }
      admitCaller(visit, request.raw).then(() => done(), done);
    },

    serve(request, reply) {
      reply.hijack();
      const { visit } = request;
      if (!visit?.exchange) return;
      if (Buffer.isBuffer(request.body)) visit.exchange.body = request.body;
      answerAdmitted(visit, reply.raw);
    },

    fail(error, request, reply) {
      reply.hijack();
      const visit = request.visit ?? beginVisit(request.raw, router, nextId());
      refuse(visit, frameworkProblem(error, limits), request.raw, reply.raw);
    },

    stop() {
      stopped = true;
      stopping.abort();
    },
  };

  function nextId(): string {
    requests += 1;
    return `${idPrefix}-${requests.toString(36)}`;
  }

  function takeUp(visit: Visit, raw: IncomingMessage, response: ServerResponse): void {
    if (visit.match.role === 'public') {
      const problem = problemIn(() => admitAnybody(visit, raw));
      if (problem) refuse(visit, problem, raw, response);
      if (!problem) answerAdmitted(visit, response);
      return;
    }
    admitCaller(visit, raw).then(
      () => answerAdmitted(visit, response),
      (error: unknown) => refuse(visit, error, raw, response),
    );
  }

  function admitAnybody(visit: Visit, raw: IncomingMessage): void {
    openExchange(visit, raw, null);
    refuseUnsafe(raw, trusts);
  }

  async function admitCaller(visit: Visit, raw: IncomingMessage): Promise<void> {
    if (visit.match.role === 'public') return;
    const caller = await authenticate(access, raw, trusts);
    visit.caller = caller;
    refuseLesserRole(caller, visit.match.role);
    const { params } = openExchange(visit, raw, caller);
    if (raw.method !== 'GET' && raw.method !== 'HEAD') refuseForeignLayer(caller, params.layer);
    refuseUnsafe(raw, trusts);
  }

  function openExchange(visit: Visit, request: IncomingMessage, caller: Caller | null): Exchange {
    refuseExcess(request, visit, limits);
    const { params } = routeOf(visit.match);
    const { id, path, query, prefix } = visit;
    visit.exchange = new Exchange({ id, path, query, prefix, params, caller, request, trusts, access });
    return visit.exchange;
  }

  function refuse(visit: Visit, error: unknown, raw: IncomingMessage, response: ServerResponse): void {
    noteDenial(audit, visit, raw.method ?? '', sourceAddress(raw, trusts), error);
    answerProblem(visit, error, response);
    lingerOver(raw);
  }

  function answerAdmitted(visit: Visit, response: ServerResponse): void {
    const { match, exchange } = visit;
    if (!exchange || match.kind !== 'found') return;
    try {
      const handled = handle(match.route, exchange);
      if (!(handled instanceof Promise)) {
        deliver(visit, handled, response, exchange);
        return;
      }
      handled
        .then((content) => deliver(visit, content, response, exchange))
        .catch((error: unknown) => answerProblem(visit, error, response));
    } catch (error) {
      answerProblem(visit, error, response);
    }
  }

  function handle(route: Route, exchange: Exchange): Answer | Promise<Answer> {
    return route.role === 'public' ? route.handler(exchange) : handleForCaller(route, exchange);
  }

  async function handleForCaller(route: Route, exchange: Exchange): Promise<Answer> {
    if (adminRequests >= limits.adminRequests) {
      throw new HttpProblem('too-many-requests', 'Too much is being asked at once.', ['Retry-After', '1']);
    }
    adminRequests += 1;
    try {
      const handler = () => route.handler(exchange);
      return await (leavesTrace(route, exchange) ? withTrace(audit, route, exchange, handler) : handler());
    } finally {
      adminRequests -= 1;
    }
  }

  function answerProblem(visit: Visit, error: unknown, response: ServerResponse): void {
    if (error instanceof CallerGone || response.destroyed) return;
    const { answer: problem, unexpected } = problemOf(error, visit.id);
    const details = { requestId: visit.id, path: visit.path, err: error };
    if (unexpected) log.error(details, 'A request failed unexpectedly');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    deliver(visit, problem, response, visit.exchange);
  }

  function deliver(visit: Visit, content: Answer, response: ServerResponse, exchange: Exchange | null): void {
    if (response.destroyed) return;
    send(response, content, {
      requestId: visit.id,
      sharing: exchange?.audience === 'caller' ? undefined : sharingOf(visit.match),
      variesByCaller: exchange !== null && exchange.audience !== 'all',
      signal: () => (exchange ? streamSignal(exchange, response) : stopping.signal),
      outbox,
    });
  }

  function streamSignal(exchange: Exchange, response: ServerResponse): AbortSignal {
    const holds = () => exchange.callerStillHolds();
    const watched = watchStream(response, { holds, intervalMs: limits.streamCheckInterval, log });
    return AbortSignal.any([exchange.signal, stopping.signal, watched]);
  }
}

function problemIn(step: () => void): Error | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** What the framework refuses while it reads a body, in our words. */
function frameworkProblem(error: unknown, limits: HttpLimits): unknown {
  const { code = '', statusCode = 500 } = error as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || !code.startsWith('FST_')) return error;
  if (statusCode === 413) {
    return new HttpProblem('body-too-large', `A body may have at most ${limits.bodySize} bytes.`);
  }
  if (statusCode === 415) {
    return new HttpProblem('media-type-unsupported', 'The Content-Type of the request is not a media type.');
  }
  return statusCode === 400
    ? new HttpProblem('body-unreadable', 'The body could not be read to its end.')
    : error;
}

/**
 * A socket that is closed while bytes of the caller lie unread resets the connection, and the caller loses
 * the answer with it. So they are read for a while; whoever goes on sending is cut off.
 */
function lingerOver(raw: IncomingMessage): void {
  if (raw.complete || raw.destroyed) return;
  raw.resume();
  const cut = setTimeout(() => raw.socket.destroy(), LINGER_MS);
  raw.once('close', () => clearTimeout(cut));
  raw.once('end', () => clearTimeout(cut));
}
