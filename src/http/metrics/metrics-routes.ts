import type { UpstreamReport } from '../../domain/upstream-status.ts';
import type { StoreRequestCounts } from '../../pipeline/store-request-counts.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { TaskService } from '../../tasks/task-service.ts';
import type { Route } from '../route.ts';
import { addLedgerMetrics, addTaskMetrics } from './cache-metrics.ts';
import { MetricSheet } from './metric-sheet.ts';
import { addProcessMetrics, type EventLoopWatch } from './process-metrics.ts';
import { addTileMetrics, type TileMetricsSources } from './tile-metrics.ts';
import { addUpstreamMetrics } from './upstream-metrics.ts';

export interface MetricsDeps extends TileMetricsSources {
  readonly tasks: Pick<TaskService, 'figures'>;
  readonly quota: Pick<QuotaService, 'usage'>;
  readonly upstreams: UpstreamReport;
  readonly eventLoop: EventLoopWatch;
  readonly storeRequests: StoreRequests;
}

/** `/metrics`, in the text format of Prometheus. */
export function metricsRoutes(deps: MetricsDeps): readonly Route[] {
  const sheet = new MetricSheet();
  addTileMetrics(sheet, deps);
  addUpstreamMetrics(sheet, deps.upstreams);
  addTaskMetrics(sheet, deps.tasks);
  addLedgerMetrics(sheet, deps.quota);
  addStoreMetrics(sheet, deps.storeRequests);
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
