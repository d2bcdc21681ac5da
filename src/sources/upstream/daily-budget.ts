import type { Clock } from '../../lib/clock.ts';
import type { LocalTime } from '../../lib/local-time.ts';
import type { Logger } from '../../lib/logger.ts';

/** The used part of budgets, durable, for all servers that share a database. */
export interface BudgetStore {
  /** Raises the count under this name by at most `wanted`, never above `limit`; returns the increase and the new count. */
  take(
    name: string,
    wanted: number,
    limit: number,
  ): Promise<{ readonly taken: number; readonly count: number }>;
  giveBack(name: string, count: number): Promise<void>;
  /** Deletes counts under names with this prefix, except some. */
  forget(prefix: string, except: readonly string[]): Promise<void>;
}

interface DailyBudgetOptions {
  readonly host: string;
  readonly limit: number;
  readonly time: LocalTime;
  readonly budgets: BudgetStore;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Logger;
  /** Called when there may be something to take again. */
  readonly refilled: () => void;
}

/** This share of a budget is reserved at a time; a crash loses no more than that. */
const SHARE = 0.01;
const MAX_CONCURRENT = 100;
/** Nothing begins in the last seconds of a day: it might reach the host on the next one. */
const LAST_SECONDS = 5;
const DAY_MS = 86_400_000;
/** Milliseconds after which a failed read of the budget is retried. */
const RETRY_PAUSE_MS = 5000;

/** Requests that may be sent to a host on one day. Requests reserved in the store are used, or given back on close. */
export class DailyBudget {
  readonly #options: DailyBudgetOptions;
  #day = '';
  #inHand = 0;
  /** The stored count, as last read. */
  #used = 0;
  #exhausted = false;
  #blockedUntil = Number.NEGATIVE_INFINITY;
  #filling: Promise<void> | null = null;

  constructor(options: DailyBudgetOptions) {
    this.#options = options;
  }

  get status(): { readonly day: string; readonly used: number; readonly limit: number } {
    this.#turnDay();
    return { day: this.#day, used: this.#used - this.#inHand, limit: this.#options.limit };
  }

  /** Milliseconds since 1970; null: there is something left, or it is not known yet. */
  closedUntil(): number | null {
    this.#turnDay();
    const { clock, time } = this.#options;
    const now = clock.now();
    if (this.#exhausted || this.#isDayEnding()) return time.next(0, now);
    const blocked = this.#blockedUntil - clock.monotonic();
    return blocked > 0 ? now + blocked : null;
  }

  /** False: nothing is in hand; more is being fetched, and `refilled` is called then. */
  take(): boolean {
    this.#turnDay();
    if (this.closedUntil() !== null) return false;
    if (this.#inHand === 0) {
      this.#filling ??= this.#fill().finally(() => {
        this.#filling = null;
        this.#options.refilled();
      });
      return false;
    }
    this.#inHand--;
    return true;
  }

  async close(): Promise<void> {
    await this.#filling;
    const count = this.#inHand;
    this.#inHand = 0;
    this.#exhausted = true;
    if (count > 0) await this.#options.budgets.giveBack(this.#nameOf(this.#day), count);
  }

  async #fill(): Promise<void> {
    const { budgets, limit, log, clock } = this.#options;
    const day = this.#day;
    const wanted = Math.min(MAX_CONCURRENT, Math.max(1, Math.floor(limit * SHARE)));
    try {
      const { taken, count } = await budgets.take(this.#nameOf(day), wanted, limit);
      this.#turnDay();
      if (day !== this.#day) return;
      this.#inHand += taken;
      this.#used = Math.min(limit, count);
      this.#exhausted = taken === 0;
    } catch (error) {
      log.warn(
        { err: error },
        'the daily budget of a host could not be read; no requests are sent to it until it is',
      );
      this.#blockedUntil = clock.monotonic() + RETRY_PAUSE_MS;
    }
  }

  #turnDay(): void {
    const { day } = this.#options.time.at(this.#options.clock.now());
    if (day === this.#day) return;
    this.#day = day;
    this.#inHand = 0;
    this.#used = 0;
    this.#exhausted = false;
    const { budgets, host, log, time, clock } = this.#options;
    // Another server on the same database may have a clock that is behind, or ours may be set back.
    const dayBefore = time.at(clock.now() - DAY_MS).day;
    budgets.forget(prefixOf(host), [this.#nameOf(day), this.#nameOf(dayBefore)]).catch((error: unknown) => {
      log.warn({ err: error }, 'yesterday’s budget of a host could not be removed');
    });
  }

  #isDayEnding(): boolean {
    const { minute, second } = this.#options.time.at(this.#options.clock.now());
    return minute === 1439 && second >= 60 - LAST_SECONDS;
  }

  #nameOf(day: string): string {
    return prefixOf(this.#options.host) + day;
  }
}

function prefixOf(host: string): string {
  return `upstream-requests ${host} `;
}
