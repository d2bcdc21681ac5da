import { keyRoutes, tokenRoutes, userRoutes } from './api/accounts.ts';
import { auditRoutes } from './api/audit.ts';
import { blankAreaRoutes } from './api/blank-areas.ts';
import { catalogChangeRoutes } from './api/catalog-changes.ts';
import { changeRoutes } from './api/changes.ts';
import { coverageRoutes } from './api/coverage.ts';
import { deliveryRoutes } from './api/deliveries.ts';
import { exportRoutes } from './api/exports.ts';
import { importRoutes } from './api/imports.ts';
import { inspectRoutes } from './api/inspect.ts';
import { layerRoutes } from './api/layers.ts';
import { oidcLoginRoutes } from './api/oidc-login.ts';
import { openApiRoutes } from './api/openapi.ts';
import { quotaRoutes } from './api/quota.ts';
import { scheduleRoutes } from './api/schedules.ts';
import { sessionRoutes } from './api/session.ts';
import { statusRoutes } from './api/status.ts';
import { stopTaskRoutes } from './api/stop-tasks.ts';
import { createEventStream, taskRoutes } from './api/tasks.ts';
import { tileAddressRoutes } from './api/tile-addresses.ts';
import { truncateRoutes } from './api/truncate.ts';
import type { HttpLimits } from './limits.ts';
import { metricsRoutes } from './metrics/metrics-routes.ts';
import { answerAlive, createReadiness } from './metrics/probes.ts';
import type { TileCounts } from './metrics/tile-counts.ts';
import { demoRoutes, layerPageRoutes } from './pages/layer-page.ts';
import { assetRoutes } from './pages/web-assets.ts';
import { diskQuotaRoutes } from './rest/disk-quota.ts';
import { restGridSetRoutes } from './rest/grid-sets.ts';
import { boundsRoutes, filterUpdateRoutes, restLayerRoutes } from './rest/layers.ts';
import { massTruncateRoutes } from './rest/mass-truncate.ts';
import { reloadRoutes } from './rest/reload.ts';
import { blobStoreRoutes, globalRoutes, statisticsRoutes } from './rest/resources.ts';
import { restIndexRoutes } from './rest/rest-index.ts';
import { seedRoutes } from './rest/seed.ts';
import { openRoute, type Route } from './route.ts';
import type { RouteDeps } from './route-deps.ts';
import { kmlRoutes } from './services/kml/kml-routes.ts';
import { openServices } from './services/open-services.ts';
import { createTileJson, wmtsTileJsonRoutes } from './services/tile-json.ts';
import { screened, tileServiceRoutes } from './services/tile-service-routes.ts';
import { wmsRoutes } from './services/wms/wms-routes.ts';

/** Everything the server answers, under each prefix. Of two patterns that fit a path the upper one counts. */
export function createRoutes(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const routes = routesOf(deps, limits);
  return [...routes, ...openApiRoutes(routes)];
}

/** Ours and GeoWebCache's. */
const ADMINISTRATION: readonly ((deps: RouteDeps) => readonly Route[])[] = [
  seedRoutes,
  stopTaskRoutes,
  taskRoutes,
  tileAddressRoutes,
  scheduleRoutes,
  changeRoutes,
  deliveryRoutes,
  massTruncateRoutes,
  truncateRoutes,
  blankAreaRoutes,
  coverageRoutes,
  inspectRoutes,
  diskQuotaRoutes,
  quotaRoutes,
  layerRoutes,
  catalogChangeRoutes,
  importRoutes,
  exportRoutes,
  restRoutes,
  statusRoutes,
  userRoutes,
  tokenRoutes,
  keyRoutes,
  sessionRoutes,
  oidcLoginRoutes,
  auditRoutes,
];

function routesOf(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const { catalog, traffic } = deps;
  const road = openServices(deps);
  const events = createEventStream(deps, limits);
  return [
    { method: 'GET', path: '/healthz', role: 'public', handler: answerAlive },
    { method: 'GET', path: '/readyz', role: 'public', handler: createReadiness(deps) },

    openRoute('/tiles/{layer}.json', road.screen(createTileJson(catalog))),
    ...tileServiceRoutes(road),
    ...wmsRoutes({ ...road, composer: deps.composer }),
    ...screened(kmlRoutes(road), road.screen),
    ...screened(wmtsTileJsonRoutes(catalog), road.screen),
    ...screened(layerPageRoutes(catalog), road.screen),
    ...demoRoutes(),

    { method: 'GET', path: '/api/v1/events', role: 'viewer', handler: events },
    ...ADMINISTRATION.flatMap((routesFor) => routesFor(deps)),
    ...metricsRoutes({
      ...deps.metrics,
      tasks: deps.tasks,
      changes: deps.changes,
      quota: deps.quota,
      tileCounts: countsOf(traffic),
      deliveries: deps.deliveries,
    }),

    ...assetRoutes(deps.assets),
  ];
}

/** GeoWebCache's resources besides tasks, truncation and quota. */
function restRoutes(deps: RouteDeps): readonly Route[] {
  const { rest, traffic, metrics } = deps;
  return [
    ...restIndexRoutes(),
    ...restLayerRoutes(deps),
    ...restGridSetRoutes(deps),
    ...blobStoreRoutes(rest.stores),
    ...globalRoutes(deps),
    ...boundsRoutes(deps),
    ...filterUpdateRoutes(deps),
    ...reloadRoutes(rest.reload),
    ...statisticsRoutes({
      tileCounts: countsOf(traffic),
      status: () => metrics.pipeline.status(),
      memoryTierBytes: rest.memoryTierBytes,
    }),
  ];
}

function countsOf({ counts, flush }: RouteDeps['traffic']): Pick<TileCounts, 'series'> {
  return {
    series() {
      flush();
      return counts.series();
    },
  };
}
