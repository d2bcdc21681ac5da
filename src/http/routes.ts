import { aboutRoutes } from './api/about.ts';
import { auditRoutes } from './api/audit.ts';
import { blankAreaRoutes } from './api/blank-areas.ts';
import { catalogChangeRoutes } from './api/catalog-changes.ts';
import { coverageRoutes } from './api/coverage.ts';
import { createEventStream } from './api/events.ts';
import { evictionRoutes } from './api/evictions.ts';
import { exportRoutes } from './api/exports.ts';
import { importRoutes } from './api/imports.ts';
import { inspectRoutes } from './api/inspect.ts';
import { invalidateRoutes } from './api/invalidate.ts';
import { layerRoutes } from './api/layers.ts';
import { meRoutes } from './api/me.ts';
import { nodeRoutes } from './api/nodes.ts';
import { openApiRoutes } from './api/openapi.ts';
import { quotaRoutes } from './api/quota.ts';
import { scheduleRoutes } from './api/schedules.ts';
import { seriesRoutes } from './api/series.ts';
import { sessionRoutes } from './api/session.ts';
import { taskRoutes } from './api/tasks.ts';
import { tokenRoutes } from './api/tokens.ts';
import { truncateRoutes } from './api/truncate.ts';
import { upstreamRoutes } from './api/upstreams.ts';
import { usageRoutes } from './api/usage.ts';
import { userRoutes } from './api/users.ts';
import type { HttpLimits } from './limits.ts';
import { metricsRoutes } from './metrics/metrics-routes.ts';
import { answerAlive, createReadiness } from './metrics/probes.ts';
import type { TileCounts } from './metrics/tile-counts.ts';
import { demoRoutes, layerPageRoutes } from './pages/layer-page.ts';
import { assetRoutes } from './pages/web-assets.ts';
import { blobStoreRoutes } from './rest/blob-stores.ts';
import { boundsRoutes } from './rest/bounds.ts';
import { diskQuotaRoutes } from './rest/disk-quota.ts';
import { filterUpdateRoutes } from './rest/filter-update.ts';
import { globalRoutes } from './rest/global.ts';
import { restGridSetRoutes } from './rest/grid-sets.ts';
import { restLayerRoutes } from './rest/layers.ts';
import { massTruncateRoutes } from './rest/mass-truncate.ts';
import { reloadRoutes } from './rest/reload.ts';
import { createLayerTaskListHandler, createSeedHandler, createTaskListHandler } from './rest/seed.ts';
import { statisticsRoutes } from './rest/statistics.ts';
import { createSeedFormHandler, createTerminateAllHandler } from './rest/terminate.ts';
import type { Route } from './route.ts';
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

function routesOf(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const { catalog, traffic, accounts } = deps;
  const road = openServices(deps);
  const events = createEventStream(deps, limits.eventStreams);
  const sharing = 'anyone';
  return [
    { method: 'GET', path: '/healthz', role: 'public', handler: answerAlive },
    { method: 'GET', path: '/readyz', role: 'public', handler: createReadiness(deps) },

    {
      method: 'GET',
      path: '/tiles/{layer}.json',
      role: 'public',
      sharing,
      handler: road.screen(createTileJson(deps.catalog)),
    },
    ...tileServiceRoutes(road),
    ...wmsRoutes({ ...road, composer: deps.composer }),
    ...screened(kmlRoutes(road), road.screen),
    ...screened(wmtsTileJsonRoutes(catalog), road.screen),
    ...screened(layerPageRoutes(catalog), road.screen),
    ...demoRoutes(),

    ...seedRoutes(deps),
    ...taskRoutes(deps),
    { method: 'GET', path: '/api/v1/events', role: 'viewer', handler: events },
    ...scheduleRoutes(deps),
    ...massTruncateRoutes(deps),
    ...truncateRoutes(deps),
    ...invalidateRoutes(deps),
    ...blankAreaRoutes(deps),
    ...coverageRoutes(deps),
    ...inspectRoutes(deps),
    ...diskQuotaRoutes(deps),
    ...quotaRoutes(deps),
    ...usageRoutes(deps.quota),
    ...evictionRoutes(deps),
    ...layerRoutes(deps),
    ...catalogChangeRoutes(deps.editor),
    ...importRoutes(deps.imports),
    ...exportRoutes(deps.exports),
    ...restRoutes(deps),
    ...seriesRoutes(traffic),
    ...aboutRoutes(deps.about),
    ...nodeRoutes(deps.nodes),
    ...metricsRoutes({
      ...deps.metrics,
      tasks: deps.tasks,
      quota: deps.quota,
      tileCounts: countsOf(traffic),
    }),
    ...upstreamRoutes(deps.metrics.upstreams),
    ...userRoutes(accounts.users),
    ...tokenRoutes(accounts.tokens),
    ...meRoutes(accounts),
    ...sessionRoutes(accounts),
    ...auditRoutes(accounts.audit),

    ...assetRoutes(deps.assets),
  ];
}

/** GeoWebCache's resources besides tasks, truncation and quota. */
function restRoutes(deps: RouteDeps): readonly Route[] {
  const { rest, traffic, metrics } = deps;
  return [
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

/** Tasks at GeoWebCache's addresses. */
function seedRoutes(deps: RouteDeps): readonly Route[] {
  const path = '/rest/seed/{layer}';
  const list = createLayerTaskListHandler(deps);
  return [
    { method: 'GET', path: '/rest/seed.json', role: 'viewer', handler: createTaskListHandler(deps) },
    { method: 'POST', path: '/rest/seed', role: 'operator', handler: createTerminateAllHandler(deps) },
    ...(['json', 'xml'] as const).flatMap((format): Route[] => [
      { method: 'GET', path: `${path}.${format}`, role: 'viewer', handler: list },
      {
        method: 'POST',
        path: `${path}.${format}`,
        role: 'operator',
        handler: createSeedHandler(deps, format),
      },
    ]),
    { method: 'POST', path, role: 'operator', handler: createSeedFormHandler(deps) },
  ];
}
