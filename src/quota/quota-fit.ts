import type { Ledger } from './ledger.ts';
import { type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';

/** The quota that leaves the least room for tiles of a layer. */
export interface QuotaRoom {
  readonly scope: 'global' | 'layer';
  readonly limitBytes: number;
  readonly usedBytes: number;
}

/** Null when quotas are not enforced. */
export function quotaRoom(
  layer: string,
  { enabled, globalQuota, layerQuotas }: QuotaConfiguration,
  ledger: Pick<Ledger, 'diskBytes'>,
): QuotaRoom | null {
  if (!enabled) return null;
  const own = layerQuotas.find((entry) => entry.layer === layer);
  const all: QuotaRoom = {
    scope: 'global',
    limitBytes: quotaBytes(globalQuota),
    usedBytes: ledger.diskBytes(null),
  };
  if (!own) return all;
  const limit: QuotaRoom = {
    scope: 'layer',
    limitBytes: quotaBytes(own.quota),
    usedBytes: ledger.diskBytes(layer),
  };
  return leftIn(limit) < leftIn(all) ? limit : all;
}

function leftIn({ limitBytes, usedBytes }: QuotaRoom): number {
  return limitBytes - usedBytes;
}
