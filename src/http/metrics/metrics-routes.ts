import type { UpstreamReport } from '../../domain/upstream-status.ts';
import type { StoreRequestCounts } from '../../pipeline/counter-feed.ts';
import { quotaBytes } from '../../quota/quota-configuration.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { TaskService } from '../../tasks/task-service.ts';
import type { Route } from '../route.ts';
import { MetricSheet } from './metric-sheet.ts';
import { addNodeMetrics, type NodeState } from './node-metrics.ts';
import { addProcessMetrics, type EventLoopWatch } from './process-metrics.ts';
import { addTileMetrics, type TileMetricsSources } from './tile-metrics.ts';
import { addUpstreamMetrics } from './upstream-metrics.ts';

export interface MetricsDeps extends TileMetricsSources {
  readonly tasks: Pick<TaskService, 'figures'>;
  readonly quota: Pick<QuotaService, 'usage'>;
  readonly upstreams: UpstreamReport;
  readonly eventLoop: EventLoopWatch;
  readonly storeRequests: StoreRequests;
  readonly node: NodeState;
}

/** `/metrics`, in the text format of Prometheus. */
export function metricsRoutes(deps: MetricsDeps): readonly Route[] {
  const sheet = new MetricSheet();
  addTileMetrics(sheet, deps);
  addUpstreamMetrics(sheet, deps.upstreams);
  addTaskMetrics(sheet, deps.tasks);
  addLedgerMetrics(sheet, deps.quota);
  addStoreMetrics(sheet, deps.storeRequests);
  addNodeMetrics(sheet, deps.node);
  addProcessMetrics(sheet, deps.eventLoop);
  const handler = async () => {
    const body = await sheet.write();
    return { status: 200, headers: ['Content-Type', sheet.contentType], body };
  };
  return [{ method: 'GET', path: '/metrics', role: 'viewer', handler }];
}

type StoreRequests = Pick<StoreRequestCounts, 'all'>;

const LABELS = ['store', 'operation'];

function addStoreMetrics(sheet: MetricSheet, counts: StoreRequests): void {
  const requests = sheet.counter('tilewarden_store_requests_total', 'Requests to an object store', LABELS);
  const failures = sheet.counter('tilewarden_store_request_failures_total', 'Those that failed', LABELS);
  const bytes = sheet.counter('tilewarden_store_request_bytes_total', 'Bytes of objects', LABELS);
  sheet.onLook(() => {
    for (const { store, operation, ...count } of counts.all()) {
      requests.set(count.requests, { store, operation });
      failures.set(count.failures, { store, operation });
      bytes.set(count.bytes, { store, operation });
    }
  });
}

function addTaskMetrics(sheet: MetricSheet, tasks: Pick<TaskService, 'figures'>): void {
  const byState = sheet.gauge('tilewarden_tasks', 'Tasks that are remembered, by state', ['state']);
  const rate = sheet.gauge('tilewarden_task_tiles_per_second', 'Tiles that running tasks process, smoothed');
  sheet.onLook(async () => {
    const { states, tilesPerSecond } = await tasks.figures();
    for (const [state, count] of Object.entries(states)) byState.set(count, { state });
    rate.set(tilesPerSecond);
  });
}

type Ledger = Pick<QuotaService, 'usage'> & Partial<Pick<QuotaService, 'drift'>>;

function addLedgerMetrics(sheet: MetricSheet, quota: Ledger): void {
  const bytes = sheet.gauge('tilewarden_cache_bytes', 'What tiles take on disk', ['layer']);
  const tiles = sheet.gauge('tilewarden_cache_tiles', 'Tiles in the stores', ['layer']);
  const sweeping = sheet.gauge('tilewarden_sweeping_bytes', 'Dropped and not yet removed from disk');
  const limit = sheet.gauge('tilewarden_quota_bytes', 'The global quota; 0 while it is not in force');
  const evictedTiles = sheet.counter('tilewarden_evicted_tiles_total', 'Tiles removed to keep a quota');
  const evictedBytes = sheet.counter('tilewarden_evicted_bytes_total', 'Bytes removed to keep a quota');
  const free = sheet.gauge('tilewarden_store_free_bytes', 'Room left on the disk of a store', ['store']);
  const storing = sheet.gauge(
    'tilewarden_store_storing',
    '0 while tiles are not stored because the disk is nearly full',
    ['store'],
  );
  const driftTiles = sheet.counter(
    'tilewarden_ledger_drift_tiles_total',
    'Wrong in statistics, mended: a bug',
  );
  const driftBytes = sheet.counter(
    'tilewarden_ledger_drift_bytes_total',
    'Wrong in statistics, mended: a bug',
  );
  sheet.onLook(async () => {
    const usage = await quota.usage();
    for (const layer of usage.layers) {
      bytes.set(layer.bytes, { layer: layer.name });
      tiles.set(layer.tiles, { layer: layer.name });
    }
    sweeping.set(usage.sweeping.bytes);
    if (usage.quota.enabled) limit.set(quotaBytes(usage.quota.globalQuota));
    evictedTiles.set(usage.evicted.tiles);
    evictedBytes.set(usage.evicted.bytes);
    for (const [store, room] of usage.disks) {
      free.set(room.freeBytes, { store });
      storing.set(room.storing ? 1 : 0, { store });
    }
    driftTiles.set(quota.drift?.tiles ?? 0);
    driftBytes.set(quota.drift?.bytes ?? 0);
  });
}
