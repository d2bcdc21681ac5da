import { misconfigured } from '../domain/errors.ts';
import type { AccessLog } from './access-log.ts';
import type { RouteDeps } from './api/route-deps.ts';
import { createTrafficSeries, mergeSeries } from './api/series.ts';
import type { Access } from './auth/access.ts';
import { isLoopbackHost } from './auth/peer.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { countReads, type TileBatch, TileCounts } from './metrics/tile-counts.ts';
import { createRoutes } from './routes.ts';
import {
  createHttpAppOver,
  type HttpApp,
  type HttpServer,
  type HttpServerOptions,
  listen,
} from './server.ts';
import { createRewrite } from './services/compatibility.ts';

/** Publishes a figure of this process; returns a function for those of all processes of the server, its own first. */
export type ShareFigure = <Figure>(name: string, read: () => Figure) => () => readonly Figure[];

export interface HttpServerDeps extends Omit<RouteDeps, 'traffic'> {
  readonly access: Access;
  /** Absent: this is the only process. */
  readonly share?: ShareFigure;
  /** As in `DispatcherOptions`. */
  readonly flush?: (what: 'counts' | 'changes') => Promise<void>;
  readonly isAway?: () => boolean;
  readonly accessLog?: AccessLog;
}

export async function openHttpServer(deps: HttpServerDeps, options: HttpServerOptions): Promise<HttpServer> {
  requireLoopback(deps.access, options.host);
  return listen(createHttpApp(deps, options), options);
}

export function createHttpApp(deps: HttpServerDeps, options: HttpServerOptions): HttpApp {
  const { accounts, clock, quota, share = (_, read) => () => [read()] } = deps;
  const series = createTrafficSeries(clock, () => quota.evicted);
  const counts = new TileCounts();
  const tally = {
    add(batch: TileBatch) {
      counts.add(batch);
      series.add(batch);
    },
  };
  const pipeline = countReads(deps.pipeline, clock, tally);
  const tiles = share('tiles', () => {
    pipeline.flush();
    return counts.all();
  });
  const allSeries = share('series', () => series.document());
  const traffic = {
    counts: {
      series() {
        const sum = new TileCounts();
        for (const batch of tiles().flat()) sum.add(batch);
        return sum.series();
      },
    },
    series: { document: () => mergeSeries(allSeries()) },
    flush: pipeline.flush,
  };
  const { surrogateKeys = null, prefixes } = options;
  const routes = createRoutes(
    { ...deps, pipeline, traffic, surrogateKeys, prefixes },
    { ...DEFAULT_LIMITS, ...options.limits },
  );
  const accessOf = (layer: string) => deps.catalog.layer(layer)?.layer.access ?? null;
  return createHttpAppOver(
    routes,
    {
      ...deps,
      accessOf,
      audit: accounts.audit,
      keys: accounts.readerKeys,
      rewrite: createRewrite(options.compatibility ?? [], deps.catalog),
    },
    options,
  );
}

function requireLoopback(access: Access, host: string): void {
  if (!access.loopbackOnly || isLoopbackHost(host)) return;
  throw misconfigured(
    `Without accounts (--no-auth) the server listens on loopback only, e.g. 127.0.0.1; ${host} can be reached from outside.`,
  );
}
