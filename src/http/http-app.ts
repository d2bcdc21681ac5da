import { misconfigured } from '../domain/errors.ts';
import { bindRoutes } from './api/api-route.ts';
import { API_ROUTES } from './api/api-routes.ts';
import { oidcLoginRoutes } from './api/oidc-login.ts';
import type { RouteDeps } from './api/route-deps.ts';
import { createTrafficSeries, mergeSeries } from './api/series.ts';
import { type Access, CallerPlaces } from './auth/access.ts';
import { isLoopbackHost } from './auth/peer.ts';
import { GWC_ROUTES } from './gwc/gwc-routes.ts';
import type { DispatcherOptions } from './hits/hits.ts';
import { DEFAULT_LIMITS, type HttpLimits } from './limits.ts';
import { answerAlive, createReadiness, metricsRoutes } from './metrics/metrics-routes.ts';
import { countReads, type TileBatch, TileCounts } from './metrics/tile-counts.ts';
import { demoRoutes, layerPageRoutes } from './pages/layer-page.ts';
import { assetRoutes } from './pages/web-assets.ts';
import { publicRoute, type Route } from './route.ts';
import {
  createHttpAppOver,
  type HttpApp,
  type HttpServer,
  type HttpServerOptions,
  listen,
} from './server.ts';
import { createRewrite } from './services/compatibility.ts';
import { kmlRoutes } from './services/kml/kml-routes.ts';
import { openServices } from './services/open-services.ts';
import { tileJsonRoutes } from './services/tile-json.ts';
import { createTileFinder, screened, tileServiceRoutes } from './services/tile-service-routes.ts';
import { wmsRoutes } from './services/wms/wms-routes.ts';

/** Shares a figure of this process; returns a function for those of all processes of the server, its own first. */
type ShareFigure = <Figure>(name: string, read: () => Figure) => () => readonly Figure[];

export interface HttpServerDeps
  extends Omit<RouteDeps, 'traffic' | 'surrogateKeys' | 'prefixes'>,
    Pick<DispatcherOptions, 'access' | 'flush' | 'isAway' | 'accessLog'> {
  /** Absent: this is the only process. */
  readonly share?: ShareFigure;
}

export async function openHttpServer(deps: HttpServerDeps, options: HttpServerOptions): Promise<HttpServer> {
  requireLoopback(deps.access, options.host);
  return listen(createHttpApp(deps, options), options);
}

export function createHttpApp(deps: HttpServerDeps, options: HttpServerOptions): HttpApp {
  const { accounts, clock, share = (_, read) => () => [read()] } = deps;
  const series = createTrafficSeries(clock);
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
  const allSeries = share('series', () => {
    pipeline.flush();
    return series.document();
  });
  const traffic = {
    counts() {
      const sum = new TileCounts();
      for (const batch of tiles().flat()) sum.add(batch);
      return sum.series();
    },
    series: () => mergeSeries(allSeries()),
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

/** All routes; the router puts them below each prefix. If two patterns match a path, the first one counts. */
export function createRoutes(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const parts = {
    ...deps,
    eventPlaces: new CallerPlaces(limits.eventStreams, limits.eventStreamsOfOne),
    tileAt: createTileFinder(deps),
    routes: () => routes,
  };
  const routes: readonly Route[] = [
    publicRoute('/healthz', answerAlive),
    publicRoute('/readyz', createReadiness(deps)),
    ...serviceRoutes(deps),
    ...bindRoutes([...GWC_ROUTES, ...API_ROUTES], parts),
    ...oidcLoginRoutes(deps),
    ...metricsRoutes({ ...deps, ...deps.metrics }),
    ...assetRoutes(deps.assets),
  ];
  return routes;
}

function serviceRoutes(deps: RouteDeps): readonly Route[] {
  const { catalog } = deps;
  const services = openServices(deps);
  return [
    ...tileServiceRoutes(services),
    ...wmsRoutes(services),
    ...screened(kmlRoutes(services), services.screen),
    ...screened(tileJsonRoutes(services), services.screen),
    ...screened(layerPageRoutes(catalog), services.screen),
    ...demoRoutes(),
  ];
}
