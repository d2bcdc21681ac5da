import { quotaBytes } from '../../quota/quota-configuration.ts';
import type { QuotaService, UsageReport } from '../../quota/quota-service.ts';
import type { LayerUsage } from '../../quota/usage-report.ts';
import { jsonAnswer } from '../answer.ts';
import type { Route } from '../route.ts';
import { quotaDocument } from './quota.ts';

/** `/api/v1/usage`: what the tiles take on disk, counted when it is asked for. */
export function usageRoutes(quota: Pick<QuotaService, 'usage'>): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/usage',
      role: 'viewer',
      handler: async () => jsonAnswer(usageDocument(await quota.usage())),
    },
  ];
}

function usageDocument(report: UsageReport) {
  const { bytes, tiles, sweeping, quota, evicted, growthPerDay, layers } = report;
  const limit = quotaBytes(quota.globalQuota);
  return {
    bytes,
    tiles,
    sweeping: sweeping.bytes,
    sweepingFiles: sweeping.files,
    quota: quotaDocument(quota),
    share: shareOf(bytes, limit),
    evicted,
    growthPerDay,
    fullInDays: quota.enabled ? daysUntil(limit - bytes, growthPerDay) : null,
    layers: layers.map((layer) => layerDocument(layer, report)),
  };
}

function layerDocument(layer: LayerUsage, { quota, parameters }: UsageReport) {
  const own = quota.layerQuotas.find((entry) => entry.layer === layer.name);
  const limit = own ? quotaBytes(own.quota) : null;
  const { name, bytes, tiles, tileSets } = layer;
  const share = limit === null ? null : shareOf(bytes, limit);
  const sets = tileSets.map(({ gridSet, format, parametersId, ...amounts }) => {
    const values = parametersId === null ? null : parameters.get(parametersId);
    return {
      gridSet,
      format,
      parametersId,
      parameters: values ? Object.fromEntries(values) : null,
      ...amounts,
    };
  });
  return { name, bytes, tiles, quota: limit, share, tileSets: sets };
}

function shareOf(bytes: number, limit: number): number | null {
  return limit === 0 ? null : Math.round((bytes / limit) * 10_000) / 10_000;
}

function daysUntil(room: number, growthPerDay: number | null): number | null {
  if (growthPerDay === null || growthPerDay <= 0) return null;
  return Math.max(0, Math.round((room / growthPerDay) * 10) / 10);
}
