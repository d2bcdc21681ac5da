import type { StoreRequestCounts } from '../../pipeline/store-request-counts.ts';
import type { MetricSheet } from './metric-sheet.ts';

export type StoreRequests = Pick<StoreRequestCounts, 'all'>;

const LABELS = ['store', 'operation'];

export function addStoreMetrics(sheet: MetricSheet, counts: StoreRequests): void {
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
