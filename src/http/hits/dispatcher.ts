import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { KeyAuth } from '../../access/open-reader-keys.ts';
import { UnavailableError } from '../../lib/error-code.ts';
import type { Logger } from '../../lib/logger.ts';
import { Turnstile } from '../../lib/semaphore.ts';
import type { AccessLog } from '../access-log.ts';
import { CallerPlaces } from '../auth/access.ts';
import { type AuditSink, leavesTrace, noteDenial, withTrace } from '../auth/audit-trail.ts';
import { requireLayerScope } from '../auth/layer-visibility.ts';
import { createKeyCheck, type PresentedKey, preflightResponse, presentedKeyOf } from '../auth/reader-key.ts';
import {
  readBody,
  refuseBadHost,
  refuseExcess,
  refuseLesserRole,
  refuseUnsafe,
} from '../auth/request-checks.ts';
import { authorIn, CallerGone, Context, type ContextDeps, connectionOf } from '../context.ts';
import type { HttpLimits } from '../limits.ts';
import { problemOf, tooMany } from '../problems.ts';
import type { RequestHead } from '../request-head.ts';
import type { Response } from '../response.ts';
import type { Route } from '../route.ts';
import { type Match, matchWhileAway, type Router, routeOf } from './router.ts';
import { createOutbox, createSender, type FrontReply, type Reply } from './send.ts';

export interface DispatcherOptions extends ContextDeps {
  readonly router: Router;
  readonly audit: AuditSink;
  readonly log: Logger;
  readonly limits: HttpLimits;
  /** With several processes or nodes: resolves when the others have reported their counts, or have applied all changes. */
  readonly flush?: (what: 'counts' | 'changes') => Promise<void>;
  /** Whether the database is unreachable; then no request waits for it. */
  readonly isAway?: () => boolean;
  readonly keys?: KeyAuth;
  readonly accessLog?: Pick<AccessLog, 'add'>;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** How long the rest of a refused body is read and discarded, so that its sender can read the response. */
const LINGER_MS = 1000;

/** Passes each request through the checks to its handler, and the response to the client. */
export function createDispatcher(options: DispatcherOptions) {
  const { router, audit, trusts, log, limits, flush, accessLog } = options;
  const stopping = new AbortController();
  const outbox = createOutbox();
  const send = createSender(outbox, streamSignal);
  let stopped = false;
  let lastKeepAliveRequestAt = 0;
  let requests = 0;
  const keyCheck = options.keys ? createKeyCheck(options.keys, trusts) : null;
  /** Admits one change per turn of the event loop: many that arrive together do not delay tiles. */
  const changes = new Turnstile();
  const adminPlaces = new CallerPlaces(limits.adminRequests, limits.adminRequestsOfOne);

  const listener: RequestListener = (request, response) => {
    const connection = connectionOf(request.socket);
    if (stopped && connection.used) lastKeepAliveRequestAt = performance.now();
    connection.used = true;
    connection.lastResponse = response;
    if (connection.waiting >= limits.waitingPerConnection) begin(rejectPipelined, response);
    else connection.beginInTurn(response, beginHandling, limits.requestsPerConnection);
  };
  const beginHandling = (response: ServerResponse) => begin(handleRequest, response);

  return {
    listener,
    outbox,
    answerFront,
    /** Ends event streams; later responses close their connections. */
    stop(): void {
      stopped = true;
      stopping.abort();
    },
    /** `performance.now()` of the last request on a connection that was open before the stop. */
    lastKeepAliveRequestAt: () => lastKeepAliveRequestAt,
  };

  function begin(work: typeof handleRequest, response: ServerResponse): void {
    try {
      if (stopped) response.shouldKeepAlive = false;
      work(response.req, response);
    } catch (error) {
      abandon(response, error);
    }
  }

  /** For unexpected errors: uncaught, they would end the server. */
  function abandon(reply: Reply, error: unknown): void {
    log.error({ err: error }, 'a request could not be answered');
    reply.destroy();
  }

  function matchOf(request: RequestHead) {
    const { match: found, key } = targetOf(request);
    const match = options.isAway?.() ? matchWhileAway(found) : found;
    return { match, context: contextOf(request, match, key) };
  }

  function contextOf(request: RequestHead, match: Match, key: PresentedKey | null): Context {
    requests += 1;
    const context = new Context(request, match, requests, options);
    context.key = key;
    if (accessLog) context.begunAt = performance.now();
    return context;
  }

  /** Responds to a request for a tile. False: left to `node:http`, as are all after a stop, to close their connections. */
  function answerFront(reply: FrontReply): boolean {
    try {
      const { match, key } = targetOf(reply.req);
      if (stopped || match.kind !== 'found' || !match.route?.tiles?.test(match.query)) return false;
      answerPublic(reply, contextOf(reply.req, match, key), match);
    } catch (error) {
      abandon(reply, error);
    }
    return true;
  }

  /** Routes that accept reader keys are matched without the key in the address; others ignore keys. */
  function targetOf(request: RequestHead): { readonly match: Match; readonly key: PresentedKey | null } {
    const { method = '', url = '' } = request;
    const key = url.length > limits.addressLength ? null : keyCheck && presentedKeyOf(request, connectionOf);
    const match = router.match(method, key?.url ?? url);
    if (!key || match.route?.sharing === 'anyone' || match.route?.takesKey) return { match, key };
    return { match: key.url === url ? match : router.match(method, url), key: null };
  }

  function rejectPipelined(request: IncomingMessage, response: ServerResponse): void {
    const { match, context } = matchOf(request);
    const most = limits.requestsPerConnection + limits.waitingPerConnection;
    const message = `At most ${most} requests of one connection may wait for answers; wait for some of them.`;
    answerProblem(response, tooMany(message), context, match);
    lingerOver(request);
  }

  function handleRequest(request: IncomingMessage, response: ServerResponse): void {
    const { match, context } = matchOf(request);
    if (match.role !== 'public' || !isReading(request)) {
      void handleAuthenticated(request, response, context, match);
      return;
    }
    answerPublic(response, context, match);
  }

  function answerPublic(reply: Reply, context: Context, match: Match): void {
    const counted = admitKey(reply.req, context);
    if (!counted) handlePublicRead(reply, context, match);
    else
      counted.then(
        () => handlePublicRead(reply, context, match),
        (error: unknown) => answerProblem(reply, error, context, match),
      );
  }

  function admitKey(request: RequestHead, { key, connection }: Context): Promise<void> | null {
    return key && keyCheck ? keyCheck.admit(key, request, connection) : null;
  }

  /** A wrong key is refused, even if the handler succeeded. */
  async function refuseKey(key: PresentedKey, reply: Reply, context: Context, match: Match): Promise<void> {
    context.key = null;
    answerProblem(reply, await keyCheck?.refuse(key, reply.req), context, match);
  }

  /** The hot path, mostly for tiles: creates no promise unless the handler returns one. */
  function handlePublicRead(reply: Reply, context: Context, match: Match): void {
    try {
      refuseMalformed(reply.req, context);
      const answer = routeOf(match).handler(context);
      if (!(answer instanceof Promise)) {
        deliver(reply, answer, context, match);
        return;
      }
      answer
        .then((content) => deliver(reply, content, context, match))
        .catch((error: unknown) => answerProblem(reply, error, context, match));
    } catch (error) {
      answerProblem(reply, error, context, match);
      if (reply instanceof ServerResponse) lingerOver(reply.req);
    }
  }

  async function handleAuthenticated(
    request: IncomingMessage,
    response: ServerResponse,
    context: Context,
    match: Match,
  ): Promise<void> {
    const preflight = match.route?.sharing === 'anyone' ? preflightResponse(request) : null;
    if (preflight) {
      context.key = null;
      deliver(response, preflight, context, match);
      return;
    }
    try {
      await admit(request, context, match);
      if (!isReading(request)) {
        await changes.pass();
        await readWhole(request, context);
      }
    } catch (error) {
      noteDenial(audit, context, request.method ?? '', match, error);
      answerProblem(response, error, context, match);
      lingerOver(request);
      return;
    }
    try {
      deliver(response, await handle(routeOf(match), context), context, match);
    } catch (error) {
      answerProblem(response, error, context, match);
    }
  }

  /** Before the body is read: authenticates, and refuses requests that can be refused without it. */
  async function admit(request: IncomingMessage, context: Context, match: Match): Promise<void> {
    refuseMalformed(request, context);
    if (match.role !== 'public') {
      if (options.isAway?.())
        throw new UnavailableError('The database cannot be reached now; try again later.');
      const caller = await context.identify();
      if (!caller) throw context.credentialsNeeded();
      context.caller = caller;
      refuseLesserRole(caller, match.role);
    }
    await admitKey(request, context);
    routeOf(match);
    if (!isReading(request)) requireLayerScope(context, match.params.layer);
    refuseUnsafe(request, options, match.route?.sharing !== 'anyone');
  }

  /** A slow body may outlast the account or the role of its caller: rights are checked again at its end. */
  async function readWhole(request: IncomingMessage, context: Context): Promise<void> {
    context.body = await readBody(request, limits.bodySize);
    if (!(await context.callerStillHolds())) throw context.credentialsNeeded();
  }

  function refuseMalformed(request: RequestHead, context: Context): void {
    refuseBadHost(request, context.connection);
    refuseExcess(request, limits);
  }

  async function handle(route: Route, context: Context): Promise<Response> {
    if (route.role === 'public') return route.handler(context);
    const { account } = authorIn(context);
    if (!adminPlaces.hasRoom(account)) throw tooMany('Too many concurrent administrative requests.');
    const release = adminPlaces.take(account);
    try {
      if (route.method === 'GET') await flush?.('counts');
      const handler = () => route.handler(context);
      const answer = await (leavesTrace(route, context)
        ? withTrace(audit, route, context, handler)
        : handler());
      if (route.method !== 'GET') await flush?.('changes');
      return answer;
    } finally {
      release();
    }
  }

  function answerProblem(reply: Reply, error: unknown, context: Context, match: Match): void {
    if (error instanceof CallerGone || reply.destroyed) return;
    const { answer, unexpected } = problemOf(error, context.id);
    const details = { requestId: context.id, path: context.path, err: error };
    if (unexpected) log.error(details, 'A request failed unexpectedly');
    if (reply.headersSent) reply.destroy();
    else deliver(reply, answer, context, match);
  }

  function deliver(reply: Reply, answer: Response, context: Context, match: Match): void {
    if (reply.destroyed) return;
    const { key } = context;
    if (key && key.refusal !== null) {
      void refuseKey(key, reply, context, match);
      return;
    }
    const { req } = reply;
    send(reply, answer, context, match.route?.sharing);
    if (accessLog) logAccess(reply, req, answer, context);
  }

  /** Adds a line to the access log; for a stream, when it ends. */
  function logAccess(reply: Reply, request: RequestHead, answer: Response, context: Context): void {
    const { body, status } = answer;
    if (typeof body !== 'function')
      add(body === null || request.method === 'HEAD' ? 0 : Buffer.byteLength(body));
    else if (reply instanceof ServerResponse) reply.once('close', () => add(0));

    function add(bytes: number): void {
      accessLog?.add({
        request,
        address: context.source,
        caller: context.caller ?? context.identified,
        status,
        bytes,
        ms: performance.now() - context.begunAt,
        cache: answer.cache ?? headerIn(answer.headers, 'X-Cache'),
      });
    }
  }

  function streamSignal(context: Context, response: ServerResponse): AbortSignal {
    const watched = watchStream(response, context, limits.streamCheckInterval, log);
    return AbortSignal.any([context.signal, stopping.signal, watched]);
  }
}

function headerIn(headers: Response['headers'], name: string): string | null {
  const at = headers.indexOf(name);
  return at < 0 ? null : (headers[at + 1] ?? null);
}

function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Closing a socket with unread bytes of the client resets the connection, and the client loses the response. So they are
 * read for a while; a client that continues to send is disconnected.
 */
function lingerOver(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const cut = setTimeout(() => request.socket.destroy(), LINGER_MS);
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
}

/**
 * An event stream can outlast the rights of its caller. The signal aborts soon after the caller was removed, changed or
 * signed out, or if that cannot be checked.
 */
function watchStream(
  response: ServerResponse,
  context: Context,
  intervalMs: number,
  log: Logger,
): AbortSignal {
  const ended = new AbortController();
  let checking = false;
  const check = async () => {
    if (checking) return;
    checking = true;
    const isValid = await context.callerStillHolds().catch((error: unknown) => {
      log.warn({ err: error }, 'the credentials of an event stream could not be checked again');
      return false;
    });
    checking = false;
    if (!isValid) ended.abort();
  };
  const timer = setInterval(() => void check(), intervalMs);
  response.once('close', () => clearInterval(timer));
  return ended.signal;
}
