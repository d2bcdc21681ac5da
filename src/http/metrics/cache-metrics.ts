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

type Ledger = Pick<QuotaService, 'usage'> & Partial<Pick<QuotaService, 'drift'>>;

export function addLedgerMetrics(sheet: MetricSheet, quota: Ledger): void {
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
