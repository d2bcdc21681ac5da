import type { Clock } from '../../lib/clock.ts';
import { DailyHours } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import { ConcurrencyControl } from './concurrency-control.ts';
import { DailyBudget } from './daily-budget.ts';
import { RateWindow } from './rate-window.ts';
import type { UpstreamOptions } from './upstream-options-for.ts';

export function placesOf({ concurrency: max, adaptive }: UpstreamOptions, clock: Clock): ConcurrencyControl {
  return new ConcurrencyControl({ max, adaptive, clock });
}

export function quietOf({ quietHours, timeZone }: UpstreamOptions): DailyHours {
  return new DailyHours(quietHours, new LocalTime(timeZone));
}

/** Requests that began in the former window count on. */
export function rateOf({ ratePerSecond }: UpstreamOptions, former: RateWindow | null): RateWindow | null {
  if (ratePerSecond === null) return null;
  former?.setRate(ratePerSecond);
  return former ?? new RateWindow(ratePerSecond);
}

type BudgetParts = Omit<ConstructorParameters<typeof DailyBudget>[0], 'limit' | 'time'>;

export function budgetOf({ dailyBudget: limit, timeZone }: UpstreamOptions, parts: BudgetParts) {
  return limit === null ? null : new DailyBudget({ ...parts, limit, time: new LocalTime(timeZone) });
}
