import type { Database } from '../db/database.ts';
import type { StoreRoom } from '../storage/store.ts';
import { type QuotaConfiguration, quotaBytes } from './quota-configuration.ts';
import type { Amount } from './usage-report.ts';

interface UsageSample extends Amount {
  readonly at: number;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MAX_AGE = 7 * DAY;
const KEEP = 90 * DAY;

export function createUsageHistory(database: Database) {
  return {
    async record({ at, bytes, tiles }: UsageSample): Promise<void> {
      await database.transaction('usage-history', async (query) => {
        await query
          .insertInto('usage_history')
          .values({ at, bytes, tiles })
          .onConflict((conflict) => conflict.column('at').doUpdateSet({ bytes, tiles }))
          .execute();
        await query
          .deleteFrom('usage_history')
          .where('at', '<', at - KEEP)
          .execute();
      });
    },

    /** Bytes a day over the last week; null with less than an hour of history. */
    async growthPerDay({ at, bytes }: UsageSample): Promise<number | null> {
      const first = await database.query
        .selectFrom('usage_history')
        .select(['at', 'bytes'])
        .where('at', '>=', at - MAX_AGE)
        .orderBy('at')
        .limit(1)
        .executeTakeFirst();
      if (!first || at - first.at < HOUR) return null;
      return Math.round(((bytes - first.bytes) / (at - first.at)) * DAY);
    },
  };
}

interface FillingStores {
  readonly bytes: number;
  /** Null while it is unknown. */
  readonly growthPerDay: number | null;
  readonly quota: Pick<QuotaConfiguration, 'enabled' | 'globalQuota'>;
  readonly disks: Iterable<StoreRoom>;
}

/**
 * Days until the quota is used up or a disk is too full to store tiles, whichever comes first. Null: no limit, or no
 * growth.
 */
export function daysUntilFull({ bytes, growthPerDay, quota, disks }: FillingStores): number | null {
  const rooms = [...disks].map(roomOn);
  if (quota.enabled) rooms.push(quotaBytes(quota.globalQuota) - bytes);
  const room = Math.min(...rooms);
  if (room <= 0) return 0;
  if (rooms.length === 0 || growthPerDay === null || growthPerDay <= 0) return null;
  return Math.round((room / growthPerDay) * 10) / 10;
}

/** Bytes until less is free than required. */
function roomOn({ freeBytes, freePercent, minFreePercent, storing }: StoreRoom): number {
  return storing ? Math.floor(freeBytes * (1 - minFreePercent / freePercent)) : 0;
}
