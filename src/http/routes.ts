import type { Accounts } from '../access/open-accounts.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogEditor } from '../catalog/catalog-editor.ts';
import type { ServiceSettings } from '../catalog/service-settings.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { NodeRegistry } from '../nodes/node-registry.ts';
import type { TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { QuotaService } from '../quota/quota-service.ts';
import type { Invalidation } from '../tasks/invalidation.ts';
import type { MassTruncation } from '../tasks/mass-truncation.ts';
import type { ScheduleService } from '../tasks/schedules/schedule.ts';
import type { TaskService } from '../tasks/task-service.ts';
import { type About, aboutRoutes } from './api/about.ts';
import { auditRoutes } from './api/audit.ts';
import { type BlankAreaDeps, blankAreaRoutes } from './api/blank-areas.ts';
import { catalogChangeRoutes } from './api/catalog-changes.ts';
import { coverageRoutes } from './api/coverage.ts';
import { createEventStream } from './api/events.ts';
import { evictionRoutes } from './api/evictions.ts';
import { type Exports, exportRoutes } from './api/exports.ts';
import { type ImportDeps, importRoutes } from './api/imports.ts';
import { inspectRoutes } from './api/inspect.ts';
import { invalidateRoutes } from './api/invalidate.ts';
import { type LayerDeps, layerRoutes } from './api/layers.ts';
import { meRoutes } from './api/me.ts';
import { nodeRoutes } from './api/nodes.ts';
import { openApiRoutes } from './api/openapi.ts';
import { quotaRoutes } from './api/quota.ts';
import { scheduleRoutes } from './api/schedules.ts';
import { seriesRoutes, type TrafficSeries } from './api/series.ts';
import { sessionRoutes } from './api/session.ts';
import { createTaskApi } from './api/tasks.ts';
import { tokenRoutes } from './api/tokens.ts';
import { truncateRoutes } from './api/truncate.ts';
import { upstreamRoutes } from './api/upstreams.ts';
import { usageRoutes } from './api/usage.ts';
import { userRoutes } from './api/users.ts';
import type { HttpLimits } from './limits.ts';
import { type MetricsDeps, metricsRoutes } from './metrics/metrics-routes.ts';
import { answerAlive, createReadiness } from './metrics/probes.ts';
import type { TileCounts } from './metrics/tile-counts.ts';
import { demoRoutes, layerPageRoutes } from './pages/layer-page.ts';
import { assetRoutes, type WebAsset } from './pages/web-assets.ts';
import { blobStoreRoutes, type StoreDescription } from './rest/blob-stores.ts';
import { boundsRoutes } from './rest/bounds.ts';
import { diskQuotaRoutes } from './rest/disk-quota.ts';
import { filterUpdateRoutes } from './rest/filter-update.ts';
import { globalRoutes } from './rest/global.ts';
import { restGridSetRoutes } from './rest/grid-sets.ts';
import { restLayerRoutes } from './rest/layers.ts';
import { massTruncateRoutes } from './rest/mass-truncate.ts';
import { type Reloaded, reloadRoutes } from './rest/reload.ts';
import { createLayerTaskListHandler, createSeedHandler, createTaskListHandler } from './rest/seed.ts';
import { statisticsRoutes } from './rest/statistics.ts';
import { createSeedFormHandler, createTerminateAllHandler } from './rest/terminate.ts';
import type { Route } from './route.ts';
import { kmlRoutes } from './services/kml/kml-routes.ts';
import { createTileJson, wmtsTileJsonRoutes } from './services/tile-json.ts';
import { openServices, screened, tileServiceRoutes } from './services/tile-service-routes.ts';
import { wmsRoutes } from './services/wms/wms-routes.ts';
import { isDryRun } from './wire/read-body.ts';

export interface RouteDeps {
  readonly catalog: Pick<Catalog, 'layer' | 'layers' | 'version' | 'gridSets'>;
  readonly editor: CatalogEditor;
  readonly imports: ImportDeps;
  readonly exports: Exports;
  readonly service: ServiceSettings;
  readonly pipeline: Pick<TilePipeline, 'read'>;
  /** As in `ReadinessDeps`. */
  readonly readiness: (signal: AbortSignal) => Promise<string | null>;
  readonly tasks: TaskService;
  readonly schedules: ScheduleService;
  readonly massTruncation: MassTruncation;
  readonly invalidation: Invalidation;
  readonly blankAreas: BlankAreaDeps['blankAreas'];
  readonly blankSuspects: BlankAreaDeps['blankSuspects'];
  readonly quota: QuotaService;
  readonly layerState: LayerDeps['layerState'];
  readonly traffic: TileTraffic;
  readonly about: About;
  readonly nodes: Pick<NodeRegistry, 'list'>;
  readonly rest: RestSettings;
  readonly metrics: Omit<MetricsDeps, 'tileCounts' | 'tasks' | 'quota'>;
  readonly accounts: AccountParts;
  readonly assets: readonly WebAsset[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** What GeoWebCache's resources tell of the settings. */
interface RestSettings {
  readonly stores: readonly StoreDescription[];
  readonly memoryTierBytes: number;
  /** Its path; empty: there is none. */
  readonly configFile: string;
  readonly reload: () => Promise<Reloaded>;
}

/** How tiles were answered; `flush` first, to count the present turn too. */
interface TileTraffic {
  readonly counts: TileCounts;
  readonly series: TrafficSeries;
  flush(): void;
}

/** Everything the server answers, under each prefix. Of two patterns that fit a path the upper one counts. */
export function createRoutes(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const routes = routesOf(deps, limits);
  return [...routes, ...openApiRoutes(routes)];
}

function routesOf(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const { catalog, traffic } = deps;
  const road = openServices(deps);
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
    ...wmsRoutes(road),
    ...screened(kmlRoutes(road), road.screen),
    ...screened(wmtsTileJsonRoutes(catalog), road.screen),
    ...screened(layerPageRoutes(catalog), road.screen),
    ...demoRoutes(),

    ...taskRoutes(deps, limits),
    ...scheduleRoutes(deps),
    ...massTruncateRoutes(deps),
    ...truncateRoutes(deps),
    ...invalidateRoutes(deps),
    ...blankAreaRoutes(deps),
    ...cacheRoutes(deps),
    ...layerRoutes(deps),
    ...catalogChangeRoutes(deps.editor),
    ...importRoutes(deps.imports),
    ...exportRoutes(deps.exports),
    ...restRoutes(deps),
    ...seriesRoutes(seriesOf(traffic)),
    ...aboutRoutes(deps.about),
    ...nodeRoutes(deps.nodes),
    ...metricsRoutes({
      ...deps.metrics,
      tasks: deps.tasks,
      quota: deps.quota,
      tileCounts: countsOf(traffic),
    }),
    ...upstreamRoutes(deps.metrics.upstreams),
    ...accountRoutes(deps.accounts),

    ...assetRoutes(deps.assets),
  ];
}

/** GeoWebCache's resources besides tasks, truncation and quota. */
function restRoutes(deps: RouteDeps): readonly Route[] {
  const { rest, traffic, metrics, service, about } = deps;
  return [
    ...restLayerRoutes(deps),
    ...restGridSetRoutes(deps),
    ...blobStoreRoutes(rest.stores),
    ...globalRoutes({ service, about, configFile: rest.configFile }),
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

function seriesOf({ series, flush }: TileTraffic): Pick<TrafficSeries, 'document'> {
  return {
    document() {
      flush();
      return series.document();
    },
  };
}

function countsOf({ counts, flush }: TileTraffic): Pick<TileCounts, 'series'> {
  return {
    series() {
      flush();
      return counts.series();
    },
  };
}

function cacheRoutes({ catalog, quota, tasks, clock }: RouteDeps): readonly Route[] {
  const { settings } = quota;
  return [
    ...coverageRoutes({ catalog, quota, clock }),
    ...inspectRoutes({ catalog, quota, tasks, clock }),
    ...diskQuotaRoutes({ catalog, quota: settings }),
    ...quotaRoutes({ catalog, settings }),
    ...usageRoutes(quota),
    ...evictionRoutes({ quota, clock }),
  ];
}

function taskRoutes(deps: RouteDeps, limits: HttpLimits): readonly Route[] {
  const layerTaskList = createLayerTaskListHandler(deps);
  const tasks = createTaskApi(deps.catalog, deps.tasks, deps.quota);
  const events = createEventStream({ ...deps, maxStreams: limits.eventStreams });
  return [
    { method: 'GET', path: '/rest/seed.json', role: 'viewer', handler: createTaskListHandler(deps) },
    { method: 'POST', path: '/rest/seed', role: 'operator', handler: createTerminateAllHandler(deps) },
    { method: 'GET', path: '/rest/seed/{layer}.json', role: 'viewer', handler: layerTaskList },
    {
      method: 'POST',
      path: '/rest/seed/{layer}.json',
      role: 'operator',
      handler: createSeedHandler(deps, 'json'),
    },
    { method: 'GET', path: '/rest/seed/{layer}.xml', role: 'viewer', handler: layerTaskList },
    {
      method: 'POST',
      path: '/rest/seed/{layer}.xml',
      role: 'operator',
      handler: createSeedHandler(deps, 'xml'),
    },
    { method: 'POST', path: '/rest/seed/{layer}', role: 'operator', handler: createSeedFormHandler(deps) },

    { method: 'GET', path: '/api/v1/tasks', role: 'viewer', handler: tasks.list },
    { method: 'POST', path: '/api/v1/tasks', role: 'operator', handler: tasks.create, asksOnly: isDryRun },
    { method: 'GET', path: '/api/v1/tasks/{id}', role: 'viewer', handler: tasks.show },
    { method: 'POST', path: '/api/v1/tasks/{id}/cancel', role: 'operator', handler: tasks.cancel },
    { method: 'POST', path: '/api/v1/tasks/{id}/pause', role: 'operator', handler: tasks.pause },
    { method: 'POST', path: '/api/v1/tasks/{id}/resume', role: 'operator', handler: tasks.resume },
    { method: 'POST', path: '/api/v1/tasks/{id}/retry', role: 'operator', handler: tasks.retry },
    { method: 'GET', path: '/api/v1/events', role: 'viewer', handler: events },
  ];
}

type AccountParts = Pick<Accounts, 'users' | 'tokens' | 'sessions' | 'authenticator' | 'audit'>;

function accountRoutes(accounts: AccountParts): readonly Route[] {
  return [
    ...userRoutes(accounts.users),
    ...tokenRoutes(accounts.tokens),
    ...meRoutes(accounts),
    ...sessionRoutes(accounts),
    ...auditRoutes(accounts.audit),
  ];
}
