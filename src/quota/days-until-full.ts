import type { StoreRoom } from '../storage/tile-store.ts';
import { type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';

export interface FillingStores {
  readonly bytes: number;
  /** Null while it cannot be told. */
  readonly growthPerDay: number | null;
  readonly quota: Pick<QuotaConfiguration, 'enabled' | 'globalQuota'>;
  readonly disks: Iterable<StoreRoom>;
}

/**
 * Until the quota is used up or, for want of room on a disk, nothing is stored any more: whichever is sooner. Null
 * where there is nothing to run full, or nothing grows.
 */
export function daysUntilFull({ bytes, growthPerDay, quota, disks }: FillingStores): number | null {
  const rooms = [...disks].map(roomOn);
  if (quota.enabled) rooms.push(quotaBytes(quota.globalQuota) - bytes);
  const room = Math.min(...rooms);
  if (room <= 0) return 0;
  if (rooms.length === 0 || growthPerDay === null || growthPerDay <= 0) return null;
  return Math.round((room / growthPerDay) * 10) / 10;
}

/** Bytes until less is free than must be. */
function roomOn({ freeBytes, freePercent, minFreePercent, storing }: StoreRoom): number {
  return storing ? Math.floor(freeBytes * (1 - minFreePercent / freePercent)) : 0;
}
