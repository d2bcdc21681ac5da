import { isDeepStrictEqual } from 'node:util';
import type { HostOutage, HostPause, UpstreamStatus } from '../../domain/upstream-status.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { openRepeater } from '../../lib/repeat.ts';
import { HostLimiter, type HostLimiterOptions } from './host-limiter.ts';
import type { Permit, UpstreamPriority } from './upstream-limiter.ts';
import { type UpstreamSettings, upstreamOptionsFor } from './upstream-options.ts';

/** Hosts that operators have paused; durable, for all servers that share a database. */
interface HostPauseReader {
  read(): Promise<ReadonlyMap<string, HostPause>>;
  /** There may be new pauses. A notification may be lost. */
  listen(onChange: () => void): () => void;
}

export interface HostOutageStore {
  /** Null: the host responds again. */
  report(host: string, outage: HostOutage | null): Promise<void>;
  /** Reports of other nodes, by host. Recovered hosts are missing. */
  read(): Promise<ReadonlyMap<string, HostOutage>>;
  /** There may be new reports. A notification may be lost. */
  listen(onChange: () => void): () => void;
}

export type UpstreamLimiter = Pick<ReturnType<typeof openUpstreamLimiter>, 'acquire'>;

export interface UpstreamLimiterOptions
  extends Pick<HostLimiterOptions, 'budgets' | 'shares' | 'random' | 'clock' | 'log'>,
    Partial<Pick<HostLimiterOptions, 'maxWaiting' | 'maxInteractiveWaitMs'>> {
  /** By `host:port` or `host`. */
  readonly upstreams: UpstreamSettings;
  /** Outages that other nodes report; without it a node relies on its own requests. */
  readonly outages?: HostOutageStore;
  /** Without it no host can be paused. */
  readonly pauses?: HostPauseReader;
}

/** Milliseconds between reads of outages of other nodes, and of pauses, without a notification. */
const READ_INTERVAL_MS = 1000;
const DEFAULTS = { maxWaiting: 512, maxInteractiveWaitMs: 15_000 };

/** Admits the requests of this process; the limits of all nodes are divided by `shares` and counted in `budgets`. */
export function openUpstreamLimiter(options: UpstreamLimiterOptions) {
  const hosts = new Map<string, HostLimiter>();
  let { upstreams } = options;

  function limiterOf(host: string): HostLimiter {
    return getOrCreate(hosts, host, () => {
      const limits = upstreamOptionsFor(upstreams, host);
      return new HostLimiter({ ...DEFAULTS, ...options, host, limits, reportOutage });
    });
  }

  function reportOutage(host: string, outage: HostOutage | null): void {
    options.outages?.report(host, outage).catch((error: unknown) => {
      options.log.debug(
        { err: error, upstream: host },
        'could not report the state of a host to other nodes',
      );
    });
  }

  async function readOutages(): Promise<void> {
    const outages = (await options.outages?.read()) ?? new Map<string, HostOutage>();
    for (const host of outages.keys()) limiterOf(host);
    for (const [host, limiter] of hosts) limiter.applyOutage(outages.get(host) ?? null);
  }

  let pausesRead = Promise.resolve();
  /** One read at a time: an earlier list never replaces a later one. */
  function readPauses(): Promise<void> {
    const reading = pausesRead.then(async () => {
      const paused = (await options.pauses?.read()) ?? new Map<string, HostPause>();
      for (const host of paused.keys()) limiterOf(host);
      for (const [host, limiter] of hosts) limiter.setPause(paused.get(host) ?? null);
    });
    pausesRead = reading.catch(() => {});
    return reading;
  }

  const { clock, log } = options;
  const shared = [options.outages, options.pauses].filter((store) => store !== undefined);
  const following =
    shared.length > 0 &&
    openRepeater(() => Promise.all([readOutages(), readPauses()]), {
      clock,
      log,
      pause: READ_INTERVAL_MS,
      listen(wake) {
        const stops = shared.map((store) => store.listen(wake));
        return () => {
          for (const stop of stops) stop();
        };
      },
      level: 'debug',
      failure: 'could not read which hosts fail on other nodes, or are paused',
    });
  return {
    setUpstreams(next: UpstreamSettings): void {
      const former = upstreams;
      upstreams = next;
      for (const [host, limiter] of hosts) {
        const limits = upstreamOptionsFor(next, host);
        if (!isDeepStrictEqual(limits, upstreamOptionsFor(former, host))) limiter.setLimits(limits);
      }
    },
    /**
     * Resolves when a request to `host` (`name:port`) may begin, whatever its source. Rejects with `source-busy`,
     * `source-unavailable` or the signal's reason; for a closed host the cause is a `HostClosed`.
     */
    acquire: (host: string, priority: UpstreamPriority, signal: AbortSignal): Promise<Permit> =>
      limiterOf(host).acquire(priority, signal),
    report: (): readonly UpstreamStatus[] => [...hosts.values()].map((limiter) => limiter.status()),
    status: (host: string): UpstreamStatus => limiterOf(host).status(),
    /** Resolves when the recorded pauses have taken effect in this process. */
    readPauses,
    tryNow: (host: string): void => limiterOf(host).tryNow(),
    /** Rejects waiting requests, and gives back the rest of the budgets. */
    async close(): Promise<void> {
      if (following) await following.close();
      await Promise.all([...hosts.values()].map((limiter) => limiter.close()));
    },
  };
}
