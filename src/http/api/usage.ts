import { type Evicted, NOTHING_EVICTED } from '../../quota/clean-up.ts';
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
  const { bytes, tiles, sweeping, quota, evicted, disks, growthPerDay, fullInDays, layers } = report;
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
    fullInDays,
    disks: [...disks].map(([store, room]) => ({ store, ...room, freePercent: rounded(room.freePercent) })),
    layers: layers.map((layer) => layerDocument(layer, report)),
  };
}

function layerDocument(layer: LayerUsage, { quota, parameters, evictedByLayer }: UsageReport) {
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
  const evicted: Evicted = evictedByLayer.get(name) ?? NOTHING_EVICTED;
  return { name, bytes, tiles, quota: limit, share, evicted, tileSets: sets };
}

function shareOf(bytes: number, limit: number): number | null {
  return limit === 0 ? null : Math.round((bytes / limit) * 10_000) / 10_000;
}

function rounded(percent: number): number {
  return Math.round(percent * 100) / 100;
}
