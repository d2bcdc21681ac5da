import { quotaBytes } from '../../quota/quota-configuration.ts';
import type { QuotaService } from '../../quota/quota-service.ts';
import type { TaskService } from '../../tasks/task-service.ts';
import type { MetricSheet } from './metric-sheet.ts';

export function addTaskMetrics(sheet: MetricSheet, tasks: Pick<TaskService, 'figures'>): void {
  const byState = sheet.gauge('tilewarden_tasks', 'Tasks that are remembered, by state', ['state']);
  const rate = sheet.gauge('tilewarden_task_tiles_per_second', 'Tiles that running tasks process, smoothed');
  sheet.onLook(async () => {
    const { states, tilesPerSecond } = await tasks.figures();
    for (const [state, count] of Object.entries(states)) byState.set(count, { state });
    rate.set(tilesPerSecond);
  });
}

/** The ledger is exact when it is looked at: there is no drift to show. */
export function addLedgerMetrics(sheet: MetricSheet, quota: Pick<QuotaService, 'usage'>): void {
  const bytes = sheet.gauge('tilewarden_cache_bytes', 'What tiles take on disk', ['layer']);
  const tiles = sheet.gauge('tilewarden_cache_tiles', 'Tiles in the stores', ['layer']);
  const sweeping = sheet.gauge('tilewarden_sweeping_bytes', 'Dropped and not yet removed from disk');
  const limit = sheet.gauge('tilewarden_quota_bytes', 'The global quota; 0 while it is not in force');
  const evictedTiles = sheet.counter('tilewarden_evicted_tiles_total', 'Tiles removed to keep a quota');
  const evictedBytes = sheet.counter('tilewarden_evicted_bytes_total', 'Bytes removed to keep a quota');
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
  });
}
