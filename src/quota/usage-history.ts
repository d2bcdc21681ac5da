import type { Database } from '../db/database.ts';
import type { Amount } from './usage-report.ts';

export interface UsageSample extends Amount {
  readonly at: number;
}

/** What the stores took over the last days. */
export interface UsageHistory {
  record(sample: UsageSample): Promise<void>;
  /** Bytes a day over the last week; null while less than an hour is known. */
  growthPerDay(now: Amount & { readonly at: number }): Promise<number | null>;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;
const LOOK_BACK = 7 * DAY;
const KEEP = 90 * DAY;

export function createUsageHistory(database: Database): UsageHistory {
  return {
    async record({ at, bytes, tiles }) {
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

    async growthPerDay({ at, bytes }) {
      const first = await database.query
        .selectFrom('usage_history')
        .select(['at', 'bytes'])
        .where('at', '>=', at - LOOK_BACK)
        .orderBy('at')
        .limit(1)
        .executeTakeFirst();
      if (!first || at - first.at < HOUR) return null;
      return Math.round(((bytes - first.bytes) / (at - first.at)) * DAY);
    },
  };
}
