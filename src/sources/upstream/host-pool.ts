import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Clock } from '../../lib/clock.ts';
import { createAddressGuard } from './address-guard.ts';
import { unavailable } from './upstream-failure.ts';
import type { UpstreamOptions } from './upstream-options.ts';

export type HostOptions = Pick<
  UpstreamOptions,
  'allowPrivate' | 'concurrency' | 'ca' | 'certificate' | 'key'
> & {
  readonly proxy: string | null;
  /** False: a document of an upstream names the host, not a declaration. */
  readonly isOwn: boolean;
};

interface HostLimits {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface HostPool {
  readonly dispatcher: Dispatcher;
  /** Behind a proxy, throws if the host's address is not allowed; direct connections check it themselves. */
  admit(): Promise<void>;
}

const RECHECK_MS = 60_000;

/** Connections to one origin. Throws if its literal address is not allowed; names are checked when they are resolved. */
export function openHostPool(url: URL, options: HostOptions, limits: HostLimits, clock: Clock): HostPool {
  const { proxy } = options;
  const guard = createAddressGuard(options);
  const refusal = guard.refuses(url.hostname);
  if (refusal) throw unavailable(refusal);
  const timeouts = { headersTimeout: limits.firstByteMs, bodyTimeout: limits.totalMs };
  const [connections, timeout] = [options.concurrency, limits.connectMs];
  if (proxy === null) {
    const connect = { timeout, lookup: guard.lookup, ...tlsOf(options) };
    return {
      dispatcher: new Pool(url.origin, { ...timeouts, connections, connect }),
      admit: async () => {},
    };
  }
  const dispatcher = new ProxyAgent({
    uri: proxy,
    ...timeouts,
    connections,
    requestTls: { timeout, ...tlsOf(options) },
    proxyTls: { timeout },
    // Plain requests need no tunnel, and many proxies allow tunnels to port 443 only.
    proxyTunnel: false,
    clientFactory: (origin, how) => new Pool(origin, { ...how, ...timeouts }),
  });
  return { dispatcher, admit: admitAtTimes(() => guard.judge(url.hostname), clock) };
}

/** A proxy resolves names itself, so they are checked before the request. */
function admitAtTimes(judge: () => Promise<Error | null>, clock: Clock): () => Promise<void> {
  let verdict: Promise<Error | null> | null = null;
  let judgedAt = 0;
  return async () => {
    if (verdict === null || clock.monotonic() - judgedAt > RECHECK_MS) {
      judgedAt = clock.monotonic();
      verdict = judge();
    }
    const refusal = await verdict;
    if (refusal === null) return;
    verdict = null;
    throw unavailable(refusal);
  };
}

function tlsOf({ ca, certificate, key }: HostOptions) {
  return { ...(ca && { ca }), ...(certificate && key && { cert: certificate, key }) };
}
