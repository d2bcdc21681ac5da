import { bindRoutes } from './api/api-route.ts';
import { API_ROUTES } from './api/api-routes.ts';
import { oidcLoginRoutes } from './api/oidc-login.ts';
import type { RouteDeps } from './api/route-deps.ts';
import { CallerPlaces } from './auth/caller-places.ts';
import { GWC_ROUTES } from './gwc/gwc-routes.ts';
import type { HttpLimits } from './limits.ts';
import { metricsRoutes } from './metrics/metrics-routes.ts';
import { answerAlive, createReadiness } from './metrics/probes.ts';
import { demoRoutes, layerPageRoutes } from './pages/layer-page.ts';
import { assetRoutes } from './pages/web-assets.ts';
import { publicRoute, type Route } from './route.ts';
import { createTileFinder } from './services/find-tile.ts';
import { kmlRoutes } from './services/kml/kml-routes.ts';
import { openServices } from './services/open-services.ts';
import { tileJsonRoutes } from './services/tile-json.ts';
import { screened, tileServiceRoutes } from './services/tile-service-routes.ts';
import { wmsRoutes } from './services/wms/wms-routes.ts';

/** All routes, below each prefix. If two patterns match a path, the first one counts. */
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
    ...metricsRoutes({ ...deps, ...deps.metrics, tileCounts: { series: () => seriesNow(deps.traffic) } }),
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
    ...screened(tileJsonRoutes(catalog), services.screen),
    ...screened(layerPageRoutes(catalog), services.screen),
    ...demoRoutes(),
  ];
}

function seriesNow({ counts, flush }: RouteDeps['traffic']) {
  flush();
  return counts.series();
}
