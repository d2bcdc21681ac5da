import { Budget, type Ledger } from '../../lib/budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { DailyHours } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import type { Logger } from '../../lib/logger.ts';
import { ConcurrencyControl } from './concurrency-control.ts';
import { RateWindow } from './rate-window.ts';
import type { UpstreamOptions } from './upstream-options.ts';

export function placesOf({ concurrency: max, adaptive }: UpstreamOptions, clock: Clock): ConcurrencyControl {
  return new ConcurrencyControl({ max, adaptive, clock });
}

export function quietOf({ quietHours, timeZone }: UpstreamOptions): DailyHours {
  return new DailyHours(quietHours, new LocalTime(timeZone));
}

/** Requests that began in the former window still count. */
export function rateOf({ ratePerSecond }: UpstreamOptions, former: RateWindow | null): RateWindow | null {
  if (ratePerSecond === null) return null;
  former?.setRate(ratePerSecond);
  return former ?? new RateWindow(ratePerSecond);
}

interface BudgetParts {
  readonly host: string;
  readonly ledger: Ledger;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Logger;
  /** Called when there may be permits again. */
  readonly refilled: () => void;
}

/** Permits are taken from the budget in blocks: a crash loses at most a hundredth of it. */
const BLOCKS = { blocks: 100, maxBlock: 100 };
/** No request begins in the last seconds of a day: it might reach the host on the next one. */
const LAST_SECONDS = 5;
const READ_RETRY_MS = 5000;

export type DailyBudget = NonNullable<ReturnType<typeof budgetOf>>;

/** Requests that may be sent to a host on one day. */
export function budgetOf(
  { dailyBudget: limit, timeZone }: UpstreamOptions,
  { host, ledger, clock, log, refilled }: BudgetParts,
) {
  if (limit === null) return null;
  const time = new LocalTime(timeZone);
  const period = () => time.at(clock.now()).day;
  const budget = new Budget({
    ...BLOCKS,
    clock,
    ledger,
    period,
    scope: `upstream-requests ${host}`,
    terms: { limit, refillMs: null },
    permitsLastMs: Number.POSITIVE_INFINITY,
    askAgainMs: Number.POSITIVE_INFINITY,
  });
  let blockedUntil = Number.NEGATIVE_INFINITY;
  let filling: Promise<void> | null = null;
  let closed = false;

  async function fill(): Promise<void> {
    try {
      await budget.fill();
    } catch (error) {
      log.warn(
        { err: error },
        'the daily budget of a host could not be read; no requests are sent to it until it is',
      );
      blockedUntil = clock.monotonic() + READ_RETRY_MS;
    }
    filling = null;
    refilled();
  }

  /** Until when no request may be sent, in milliseconds since 1970; null: `take` may succeed. */
  function closedUntil(): number | null {
    const now = clock.now();
    const { minute, second } = time.at(now);
    const isDayEnding = minute === 1439 && second >= 60 - LAST_SECONDS;
    if (closed || isDayEnding || budget.refusal() !== null) return time.next(0, now);
    const blocked = blockedUntil - clock.monotonic();
    return blocked > 0 ? now + blocked : null;
  }

  return {
    get status() {
      return { day: period(), used: budget.used, limit };
    },
    closedUntil,
    /** False: no permit left here; more are being fetched, and `refilled` is called then. */
    take(): boolean {
      if (closedUntil() !== null) return false;
      if (budget.take() === null) return true;
      filling ??= fill();
      return false;
    },
    /** Returns unused permits to the budget. */
    async close(): Promise<void> {
      closed = true;
      await filling;
      await budget.giveBack();
    },
  };
}
