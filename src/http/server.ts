import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { createSecureContext, Server as TlsServer } from 'node:tls';
import { TilewardenError } from '../domain/errors.ts';
import type { CompatibleProgram } from '../domain/service-description.ts';
import type { KeyHeader } from '../domain/surrogate-keys.ts';
import { errorCode } from '../lib/error-code.ts';
import { createProxyTrust } from './auth/peer.ts';
import { connectionOf } from './context.ts';
import {
  createDispatcher,
  createRouter,
  type Dispatcher,
  type DispatcherOptions,
  openFront,
  type Rewrite,
} from './hits/hits.ts';
import { DEFAULT_LIMITS, type HttpLimits, mostConnections, openFilesLimit } from './limits.ts';
import { type HttpProblemCode, statusOf } from './problems.ts';
import type { Route } from './route.ts';

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** All paths exist below each of these, e.g. `['', '/geowebcache']`. */
  readonly prefixes: readonly string[];
  /** Programs whose addresses are served too. */
  readonly compatibility?: readonly CompatibleProgram[];
  readonly trustedProxies: readonly string[];
  /** The server's address for clients; null: the one that each request names. */
  readonly publicUrl?: string | null;
  /** Null: plain HTTP. */
  readonly tls: TlsFiles | null;
  readonly limits?: Partial<HttpLimits>;
  /** The header with the keys by which a CDN purges a tile. */
  readonly surrogateKeys?: KeyHeader | null;
  /** False: `node:http` reads every request, also for tiles. */
  readonly front?: boolean;
}

/** Not listening yet. */
export interface HttpApp {
  readonly server: Server;
  readonly dispatcher: Dispatcher;
  /** Idle connections: they have had a request and wait for the next. */
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

export type HttpServer = Awaited<ReturnType<typeof listen>>;

export async function listen(app: HttpApp, options: HttpServerOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { host, port, tls } = options;
  const { server } = app;
  const reload = async () => {
    if (tls && server instanceof TlsServer) {
      server.setSecureContext({ ...(await readTlsFiles(tls)), minVersion: TLS_MINIMUM });
    }
  };
  await reload();
  await once(server.listen({ host, port, backlog: BACKLOG }), 'listening').catch((error: unknown) => {
    throw explainListenFailure(error, options);
  });
  const { port: boundPort } = server.address() as AddressInfo;
  return {
    address: {
      host,
      port: boundPort,
      url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${boundPort}/`,
    },
    /** Reads the certificate and its key again; invalid files leave the old ones in place. */
    reload,
    /** Finishes requests in flight, for at most the drain limit. */
    close: (): Promise<void> => drain(app, limits),
  };
}

type DispatcherDeps = Pick<
  DispatcherOptions,
  'access' | 'accessOf' | 'audit' | 'keys' | 'accessLog' | 'log' | 'flush' | 'isAway'
> & { readonly rewrite?: Rewrite | null };

export function createHttpAppOver(
  routes: readonly Route[],
  deps: DispatcherDeps,
  options: HttpServerOptions,
): HttpApp {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const dispatcher = createDispatcher({
    ...deps,
    router: createRouter(routes, options.prefixes, deps.rewrite ?? null),
    trusts: createProxyTrust(options.trustedProxies),
    publicUrl: options.publicUrl ?? null,
    limits,
    idPrefix: randomBytes(6).toString('hex'),
  });
  const server = createNodeServer(limits, options.tls !== null, dispatcher.listener);
  const { outbox, answerFront: answer } = dispatcher;
  const hasFront = options.tls === null && options.front !== false;
  const front = hasFront ? openFront(server, { limits, outbox, answer }) : null;
  const closeIdleConnections = () => {
    server.closeIdleConnections();
    front?.closeIdle();
  };
  const closeAllConnections = () => {
    server.closeAllConnections();
    front?.closeAll();
  };
  server.on('drop', makeRoom(closeIdleConnections));
  return { server, dispatcher, closeIdleConnections, closeAllConnections };
}

const BACKLOG = 1024;
const IDLE_SWEEP_MS = 50;
const MAKE_ROOM_EVERY_MS = 100;
const DRAIN_POLL_MS = 20;

function createNodeServer(limits: HttpLimits, tls: boolean, listener: RequestListener): Server {
  const options = {
    maxHeaderSize: limits.headerSize,
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    // The idle timeout applies between requests too: one timer for each connection, not two for each request.
    keepAliveTimeout: 0,
    connectionsCheckingInterval: limits.connectionsCheckingInterval,
  };
  const secure = { ...options, minVersion: TLS_MINIMUM, handshakeTimeout: limits.headersTimeout } as const;
  const server = tls ? createTlsServer(secure, listener) : createServer(options, listener);
  if (!tls) answerHalfClosed(server, limits.halfClosedTimeout);
  server.setTimeout(limits.idleTimeout);
  server.maxConnections = mostConnections(limits.connections, openFilesLimit());
  server.on('clientError', answerBrokenConnection);
  return server;
}

/**
 * A client that closes its side after its request still gets its response. One that has left looks the same, so the request
 * is cancelled when no response has begun after a while.
 */
function answerHalfClosed(server: Server, timeoutMs: number): void {
  // Not in the types of Node.js.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => {
      const giveUp = () => {
        if (!connectionOf(socket).lastResponse?.headersSent) socket.destroy();
      };
      const timer = setTimeout(giveUp, timeoutMs);
      socket.once('close', () => clearTimeout(timer));
    });
  });
}

/** When the limit is reached, idle connections are closed. */
function makeRoom(closeIdle: () => void): () => void {
  let waiting: NodeJS.Timeout | null = null;
  return () => {
    if (waiting) return;
    closeIdle();
    waiting = setTimeout(() => {
      waiting = null;
    }, MAKE_ROOM_EVERY_MS).unref();
  };
}

/**
 * Waits before idle connections are closed. Responses contain `Connection: close` by now, but the next request on a
 * keep-alive connection may be in flight, and closing the connection would lose it (RFC 9112, 9.5).
 */
async function drainKeepAlive({ server, dispatcher }: HttpApp, limits: HttpLimits): Promise<void> {
  const began = performance.now();
  const latest = began + limits.drainTimeout / 2;
  const quietAt = () => Math.max(began, dispatcher.lastKeepAliveRequestAt()) + limits.keepAliveDrain;
  while (performance.now() < Math.min(quietAt(), latest) && (await openConnections(server)) > 0) {
    await delay(DRAIN_POLL_MS);
    // On a busy machine some requests have arrived but are unread: timers run before sockets.
    await nextTurn();
  }
}

async function openConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}

async function drain(app: HttpApp, limits: HttpLimits): Promise<void> {
  const { server, dispatcher } = app;
  dispatcher.stop();
  const deadline = setTimeout(app.closeAllConnections, limits.drainTimeout);
  await drainKeepAlive(app, limits);
  const closed = once(server, 'close');
  server.close();
  // Nothing else closes a connection that becomes idle after the stop began.
  const sweep = setInterval(() => setImmediate(app.closeIdleConnections), IDLE_SWEEP_MS);
  await closed;
  clearTimeout(deadline);
  clearInterval(sweep);
}

/** Whether a server can listen there. Returns the port, a free one instead of 0. Throws `config-invalid`. */
export async function probeAddress(address: Pick<HttpServerOptions, 'host' | 'port'>): Promise<number> {
  const { host, port } = address;
  const probe = createNetServer();
  await once(probe.listen({ host, port }), 'listening').catch((error: unknown) => {
    throw explainListenFailure(error, address);
  });
  const bound = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return bound.port;
}

function explainListenFailure(
  error: unknown,
  { host, port }: Pick<HttpServerOptions, 'host' | 'port'>,
): unknown {
  const code = errorCode(error);
  const because: Record<string, string> = {
    EADDRINUSE: `Port ${port} on ${host} is taken by another program; choose another one with --port.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; choose another one with --host.`,
    ENOTFOUND: `${host} is not an address of this machine; choose another one with --host.`,
    EACCES: `Port ${port} may not be opened by this user; choose one above 1023 with --port.`,
  };
  const message = typeof code === 'string' ? because[code] : undefined;
  return message === undefined ? error : new TilewardenError('config-invalid', message, { cause: error });
}

/** For input that is not a request: one line, after the earlier responses; then the connection ends. */
function answerBrokenConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const end = () => endWith(socket, parserProblem(error.code ?? ''));
  const { lastResponse } = connectionOf(socket);
  // The response to a request that never arrived completely is not awaited.
  const waits = lastResponse !== null && !lastResponse.writableFinished && lastResponse.req.complete;
  if (waits) lastResponse.once('close', end);
  else end();
}

function endWith(
  socket: Socket,
  { code, message }: { readonly code: HttpProblemCode; readonly message: string },
): void {
  const status = statusOf(code);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n` +
      'Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n' +
      `Content-Length: ${message.length}\r\nConnection: close\r\n\r\n${message}`,
  );
}

function parserProblem(code: string): { readonly code: HttpProblemCode; readonly message: string } {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { code: 'headers-too-large', message: 'The address and headers of the request are too long.\n' };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request-timeout', message: 'The request took too long to arrive.\n' };
  }
  return { code: 'body-unreadable', message: 'This is not a valid HTTP request.\n' };
}

interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

const TLS_MINIMUM = 'TLSv1.2';

/** Throws `config-invalid` when the files cannot be read or do not match. */
export async function readTlsFiles({ certificate, key }: TlsFiles) {
  const material = { cert: await readPem(certificate), key: await readPem(key) };
  try {
    createSecureContext(material);
  } catch (cause) {
    throw new TilewardenError(
      'config-invalid',
      'server.tls: the certificate and the key cannot be used together.',
      { cause },
    );
  }
  return material;
}

async function readPem(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new TilewardenError('config-invalid', `server.tls: the file ${path} cannot be read.`, { cause });
  }
}
