import { isDeepStrictEqual } from 'node:util';
import { isTilewardenError, type TilewardenError } from '../../domain/errors.ts';
import { createMemoryLedger } from '../../lib/budget.ts';
import { ifLate } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { systemRandom } from '../../lib/random.ts';
import { createSourceLife, linkAbort } from '../source-life.ts';
import { type HostOptions, type HostPool, openHostPool } from './host-pool.ts';
import { openUpstreamLimiter, type UpstreamLimiter } from './open-upstream-limiter.ts';
import { NO_PROXIES, type OutboundProxies, proxyFor } from './outbound-proxy.ts';
import {
  conditionOf,
  type Freshness,
  firstHeader,
  freshnessOf,
  hiddenPartsOf,
  NOT_MODIFIED,
  readResponse,
} from './read-response.ts';
import { failureOfConnection, timedOut } from './upstream-failure.ts';
import type { RequestEnd, UpstreamPriority } from './upstream-limiter.ts';
import { hostAndPort, type UpstreamSettings, upstreamOptionsFor } from './upstream-options.ts';

export interface UpstreamRequest {
  /** http or https; credentials in it are not used. */
  readonly url: URL;
  /** Secret values in the path of the address. */
  readonly secrets?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly priority: UpstreamPriority;
  readonly signal: AbortSignal;
  /** Called each time the request is sent. */
  readonly sent?: (() => void) | undefined;
  /** For the first byte and for the whole response; default: the client's own limits. */
  readonly timeoutMs?: number | undefined;
  /** Sent by POST, as a form. */
  readonly form?: URLSearchParams;
  /** Default: GET without a body. */
  readonly method?: string;
  readonly body?: string | null;
  /** The validator of a known version: the response may then be 304, without a body. */
  readonly validator?: string | null;
  /** Further accepted statuses besides 200, e.g. 206 or 404. */
  readonly alsoAccept?: readonly number[];
  /** The body may be gzipped, and is returned as it is. */
  readonly packed?: boolean;
}

export interface UpstreamResponse extends Freshness {
  /** 200, or another status that the request accepts. */
  readonly status: number;
  readonly bytes: Buffer;
  /** The server's media type without parameters, lower case; null: none. */
  readonly mediaType: string | null;
  /** Secret values that were sent, which the response may repeat. */
  readonly secrets: () => readonly string[];
  /** The server's validator of this version; null: none. */
  readonly etag: string | null;
}

export interface UpstreamClientOptions extends Env {
  readonly userAgent: string;
  /** By `host:port` or `host`. */
  readonly upstreams: UpstreamSettings;
  /**
   * By `host:port`: hosts that the configuration file names, which may be in a private network. Hosts that are declared
   * over HTTP, imported, or named by an upstream may not.
   */
  readonly configuredHosts?: HostSet;
  readonly proxies?: OutboundProxies;
  /** Decides when a request may begin; by default a limiter of this client. */
  readonly limiter?: UpstreamLimiter;
  readonly limits?: Partial<UpstreamLimits>;
}

const DEFAULT_LIMITS = {
  connectMs: 3_000,
  firstByteMs: 15_000,
  totalMs: 60_000,
  maxBytes: 32 * 1024 * 1024,
};
export type UpstreamLimits = Readonly<typeof DEFAULT_LIMITS>;

const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };

interface Host {
  readonly name: string;
  readonly options: HostOptions;
  readonly pool: HostPool;
}

export type UpstreamClient = ReturnType<typeof openUpstreamClient>;

export interface SourceUpstream {
  get(request: UpstreamRequest): Promise<UpstreamResponse>;
}

/** By `host:port`. */
type HostSet = Pick<ReadonlySet<string>, 'has'>;

/**
 * The only HTTP client for upstreams, so that a host's limits apply to all sources. Returns only a complete 200,
 * uncompressed unless `packed`, or a status that the request accepts; fails as documented at `TileSource`, without retrying.
 */
export function openUpstreamClient(options: UpstreamClientOptions) {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const hosts = new Map<string, Host>();
  /** Pools that finish their requests and accept no more. */
  const retired = new Set<HostPool>();
  const limiter = options.limiter ?? openLimiterFor(options);
  const life = createSourceLife('The server is stopping.');

  /** Settings are looked up for each request: a reload of the configuration file changes them. */
  function hostOf(url: URL, own: HostSet | null): Host {
    const name = hostAndPort(url);
    const isOwn = own?.has(name) ?? true;
    const hostOptions = optionsOf(url, name, isOwn);
    const id = `${url.origin} ${isOwn}`;
    const known = hosts.get(id);
    if (known && isDeepStrictEqual(known.options, hostOptions)) return known;
    hosts.delete(id);
    if (known) retire(known.pool);
    const host = { name, options: hostOptions, pool: openHostPool(url, hostOptions, limits, options.clock) };
    hosts.set(id, host);
    return host;
  }

  /** A host that only a document of an upstream names must be public, and receives no client certificate. */
  function optionsOf(url: URL, name: string, isOwn: boolean): HostOptions {
    const { concurrency, ca, certificate, key, ...settings } = upstreamOptionsFor(options.upstreams, name);
    const proxy = proxyFor(options.proxies ?? NO_PROXIES, url);
    const common = { concurrency, ca, proxy, isOwn };
    if (!isOwn) return { ...common, allowPrivate: false, certificate: null, key: null };
    const allowPrivate = settings.allowPrivate || (options.configuredHosts?.has(name) ?? false);
    return { ...common, allowPrivate, certificate, key };
  }

  function retire(pool: HostPool): void {
    retired.add(pool);
    void pool.dispatcher.close().finally(() => retired.delete(pool));
  }

  async function send(request: UpstreamRequest, own: HostSet | null, signal: AbortSignal) {
    const { form } = request;
    await hostOf(request.url, own).pool.admit();
    // A reload in the meantime may have retired the pool. Nothing is awaited between this line and the next.
    const host = hostOf(request.url, own);
    const response = await host.pool.dispatcher
      .request({
        origin: request.url.origin,
        ...(form
          ? { method: 'POST', body: form.toString() }
          : { method: request.method ?? 'GET', body: request.body ?? null }),
        path: request.url.pathname + request.url.search,
        headers: {
          ...request.headers,
          ...conditionOf(request.validator),
          ...(form && FORM_HEADERS),
          'user-agent': options.userAgent,
          'accept-encoding': request.packed ? 'gzip' : 'identity',
        },
        headersTimeout: request.timeoutMs ?? limits.firstByteMs,
        signal,
      })
      .catch((error: unknown) => {
        throw failureOfConnection(error, host.name, host.options.proxy !== null);
      });
    const now = options.clock.now();
    const { maxBytes } = limits;
    const accepted = [200, ...(request.alsoAccept ?? []), ...(request.validator ? [NOT_MODIFIED] : [])];
    const encodings = request.packed ? ['identity', 'gzip', 'x-gzip'] : ['identity'];
    const { headers = {}, secrets: inPath = [] } = request;
    const secrets = () => [...Object.values(headers), ...hiddenPartsOf(request.url), ...inPath];
    const limit = { maxBytes, host: host.name, now, accepted, encodings, secrets };
    const bytes = await readResponse(response, limit);
    const mediaType = mediaTypeOf(firstHeader(response.headers['content-type']));
    return {
      status: response.statusCode,
      bytes,
      mediaType,
      secrets,
      etag: firstHeader(response.headers.etag) ?? null,
      ...freshnessOf(response.headers, now),
    };
  }

  async function acquireAndSend(request: UpstreamRequest, own: HostSet | null, signal: AbortSignal) {
    // Throws for a literal address that is not allowed, before it waits.
    const { name } = hostOf(request.url, own);
    const permit = await limiter.acquire(name, request.priority, signal);
    request.sent?.();
    const begunAt = options.clock.monotonic();
    const elapsed = () => options.clock.monotonic() - begunAt;
    const stop = linkAbort(signal);
    try {
      const late = () => stop.abort(timedOut(`${name} did not finish its answer in time`));
      const most = request.timeoutMs ?? limits.totalMs;
      const answer = await ifLate(options.clock, most, late, () => send(request, own, stop.signal));
      permit.end(endOf(null, elapsed()));
      return answer;
    } catch (error) {
      const failure = stop.signal.aborted ? stop.signal.reason : error;
      permit.end(endOf(failure, elapsed()));
      options.log.debug({ upstream: name, err: failure }, 'an upstream request failed');
      throw failure;
    } finally {
      stop.release();
    }
  }

  const get = (request: UpstreamRequest, own: HostSet | null): Promise<UpstreamResponse> =>
    life.during(request.signal, (signal) => acquireAndSend(request, own, signal));

  return {
    get: (request: UpstreamRequest) => get(request, null),
    /** The client for a source that declares these hosts: `allowPrivate` and client certificates apply to no other. */
    ownedBy: (own: HostSet): SourceUpstream => ({ get: (request) => get(request, own) }),
    async close(): Promise<void> {
      life.end();
      const pools = [...retired, ...Array.from(hosts.values(), ({ pool }) => pool)];
      await Promise.all(pools.map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
}

/** For one process, with budgets that end with it. There is nothing to close: waiting requests end with the process. */
function openLimiterFor({ upstreams, clock, log }: UpstreamClientOptions): UpstreamLimiter {
  return openUpstreamLimiter({
    upstreams,
    clock,
    log,
    random: systemRandom,
    budgets: createMemoryLedger(clock),
  });
}

function mediaTypeOf(header: string | undefined): string | null {
  const type = header?.split(';')[0]?.trim().toLowerCase();
  return type ? type : null;
}

const OVERLOAD_STATUSES = [429, 503];

/** The outcome of a request for its host; `failure` null: success. */
export function endOf(failure: unknown, ms: number): RequestEnd {
  const plain = { reason: null, ms, retryAfterMs: null };
  if (failure === null) return { ...plain, kind: 'answered' };
  if (!isTilewardenError(failure) || failure.reason === 'stopping') return { ...plain, kind: 'left' };
  const retryAfterMs = failure.retryAfterSeconds === null ? null : failure.retryAfterSeconds * 1000;
  return { kind: kindOf(failure), reason: failureKind(failure), ms, retryAfterMs };
}

function kindOf({ code, reason, upstream }: TilewardenError): RequestEnd['kind'] {
  if (reason === 'address-refused' || code === 'source-bad-answer') return 'refused';
  if (OVERLOAD_STATUSES.includes(upstream?.status ?? 0)) return 'overloaded';
  // Also if the caller's own time limit has passed: the host has not responded.
  return 'failed';
}

/** A short list of values, since metrics count by them. */
function failureKind({ code, reason, upstream }: TilewardenError): string {
  if (upstream?.status) return `status-${upstream.status}`;
  return code === 'source-timeout' ? 'timeout' : (reason ?? code);
}
