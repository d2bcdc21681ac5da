/**
 * Budgets: so many permits for a period, or so many that refill with time. A ledger counts uses, in this process
 * or in the database for all that share it; a `Budget` holds the permits of one process, which draws them in blocks.
 *
 * | what | refills | refused by | counted in | after a restart |
 * | --- | --- | --- | --- | --- |
 * | requests to a host | at midnight of its time zone | the limiter of the host | the database | counted on |
 * | requests with a reader key, per day | at midnight UTC | 429 | the database | counted on |
 * | requests with a reader key, per second | all in a second | 429 | memory; the database if it is shared | forgotten |
 * | failed logins, wrong keys | one in half a minute, with pauses | 429 | memory; the database if it is shared | forgotten |
 */
import type { Clock } from './clock.ts';
import { RecentMap } from './recent-map.ts';

/** The use of one budget, at a time. Pauses are those of logins. Times are milliseconds of the ledger's clock. */
export interface Tally {
  readonly used: number;
  readonly at: number;
  readonly pauses: number;
  readonly pausedUntil: number;
  /** After this the tally counts as empty. */
  readonly endsAt: number;
}

export interface Terms {
  readonly limit: number;
  /** Milliseconds in which one permit comes back; null: none does, the tally is that of a period. */
  readonly refillMs: number | null;
}

/** A null tally: nothing has been used. */
type Change<Result> = (tallies: readonly (Tally | null)[], now: number) => Changed<Result>;

export interface Changed<Result> {
  readonly result: Result;
  /** In the same order; null: unchanged. */
  readonly tallies: readonly (Tally | null)[];
}

export interface Ledger {
  /** Changes tallies of one scope, one change after the other. `work` may be called more than once. */
  change<Result>(scope: string, names: readonly string[], work: Change<Result>): Result | Promise<Result>;
}

export interface Grant {
  readonly granted: number;
  /** How many are left for others. */
  readonly left: number;
  /** Milliseconds until one is available; 0: unknown, or now. */
  readonly waitMs: number;
}

const DAY_MS = 86_400_000;
/** A server whose clock is behind, or set back, may still count on the day before. */
const PERIOD_ENDS_MS = 2 * DAY_MS;
/** Refills add up to nearly a whole permit. */
const ROUNDING = 1e-6;

export function refilled(tally: Tally | null, { refillMs }: Pick<Terms, 'refillMs'>, now: number): Tally {
  if (!tally) return { used: 0, at: now, pauses: 0, pausedUntil: 0, endsAt: now };
  if (refillMs === null) return tally;
  return { ...tally, used: Math.max(0, tally.used - Math.max(0, now - tally.at) / refillMs), at: now };
}

function drawn(tally: Tally | null, wanted: number, { limit, refillMs }: Terms, now: number): Changed<Grant> {
  const before = refilled(tally, { refillMs }, now);
  const granted = Math.max(0, Math.min(wanted, Math.floor(limit - before.used + ROUNDING)));
  const used = before.used + granted;
  const endsAt = now + (refillMs === null ? PERIOD_ENDS_MS : used * refillMs);
  const left = Math.max(0, limit - used);
  const waitMs = refillMs === null ? 0 : Math.max(0, (used + 1 - limit) * refillMs);
  return { result: { granted, left, waitMs }, tallies: [granted > 0 ? { ...before, used, endsAt } : null] };
}

const MAX_TALLIES = 20_000;

/** For this process, until it ends. The least recently used tallies are forgotten. */
export function createMemoryLedger(clock: Pick<Clock, 'monotonic'>): Ledger {
  const known = new RecentMap<string, Tally>(MAX_TALLIES);
  return {
    change(scope, names, work) {
      const keys = names.map((name) => `${scope}\n${name}`);
      const { result, tallies } = work(
        keys.map((key) => known.get(key)),
        clock.monotonic(),
      );
      for (const [i, tally] of tallies.entries()) if (tally) known.set(keys[i] ?? '', tally, 1);
      return result;
    },
  };
}

/** Counts in `local` while `shared` fails. */
export function createFallbackLedger(
  shared: Ledger,
  local: Ledger,
  onFailure: (error: unknown) => void,
): Ledger {
  return {
    async change(scope, names, work) {
      try {
        return await shared.change(scope, names, work);
      } catch (error) {
        onFailure(error);
        return local.change(scope, names, work);
      }
    },
  };
}

interface BudgetOptions {
  readonly ledger: Ledger;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly scope: string;
  /** Names the tally: a day, for instance. Permits of a former period are worth nothing. */
  readonly period: () => string;
  readonly terms: Terms;
  /** A block is the rest divided by this, at least one permit and at most `maxBlock`. */
  readonly blocks: number;
  readonly maxBlock: number;
  /** Milliseconds after which drawn permits are lost: used later they would exceed a rate. */
  readonly permitsLastMs: number;
  /** Milliseconds after which a used-up budget is read again: other processes may have given permits back. */
  readonly askAgainMs: number;
}

/** Blocks of this size or more are drawn before the last is used up, so that no request waits. */
const DRAWN_AHEAD = 100;

/** The permits of one budget that this process has drawn and not used. */
export class Budget {
  readonly #options: BudgetOptions;
  #period = '';
  #inHand = 0;
  #left: number;
  #drawnAt = 0;
  #usedAt = 0;
  #refusedUntil = Number.NEGATIVE_INFINITY;
  #waitUntil = 0;
  #drawing: Promise<void> | null = null;

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#left = options.terms.limit;
  }

  /** Uses by all processes, as far as this process knows. */
  get used(): number {
    this.#enterPeriod();
    return this.#options.terms.limit - this.#left - this.#inHand;
  }

  /** Takes a permit: null. A number: no permit for that many milliseconds. Undefined: call `fill` first. */
  take(): number | null | undefined {
    this.#enterPeriod();
    const { clock, permitsLastMs } = this.#options;
    const now = clock.monotonic();
    if (this.#inHand === 0 || now - this.#drawnAt >= permitsLastMs) return this.refusal() ?? undefined;
    this.#inHand--;
    this.#usedAt = now;
    this.#drawAhead();
    return null;
  }

  /** Milliseconds without a permit, as far as known; null: there may be one. */
  refusal(): number | null {
    this.#enterPeriod();
    const now = this.#options.clock.monotonic();
    return now < this.#refusedUntil ? Math.max(0, this.#waitUntil - now) : null;
  }

  /** Draws a block; null: without a wait. */
  fill(): Promise<void> | null {
    if (this.#drawing) return this.#drawing;
    const { ledger, scope, terms } = this.#options;
    const period = this.#period;
    const wanted = this.#block;
    const grant = ledger.change(scope, [period], ([tally = null], now) => drawn(tally, wanted, terms, now));
    if (!(grant instanceof Promise)) {
      this.#receive(grant, period);
      return null;
    }
    this.#drawing = grant
      .then((given) => this.#receive(given, period))
      .finally(() => {
        this.#drawing = null;
      });
    return this.#drawing;
  }

  /** Whether nothing was taken for that long, and nothing is being drawn. */
  isIdle(ms: number): boolean {
    const { clock } = this.#options;
    return !this.#drawing && clock.monotonic() - Math.max(this.#usedAt, this.#drawnAt) >= ms;
  }

  /** Gives back the permits in hand. */
  async giveBack(): Promise<void> {
    this.#enterPeriod();
    const [count, period] = [this.#inHand, this.#period];
    this.#inHand = 0;
    const { ledger, scope } = this.#options;
    if (count === 0) return;
    await ledger.change(scope, [period], ([tally]) => ({
      result: null,
      tallies: [tally ? { ...tally, used: Math.max(0, tally.used - count) } : null],
    }));
  }

  get #block(): number {
    const { blocks, maxBlock } = this.#options;
    return Math.min(maxBlock, Math.max(1, Math.floor(this.#left / blocks)));
  }

  #drawAhead(): void {
    const block = this.#block;
    const isNear = this.#inHand > 0 && this.#inHand * 2 <= block;
    if (this.#drawing || !isNear || block < DRAWN_AHEAD || this.#options.terms.refillMs !== null) return;
    // On failure a request without a permit draws again, and reports the error.
    this.fill()?.catch(() => {});
  }

  #receive({ granted, left, waitMs }: Grant, period: string): void {
    this.#enterPeriod();
    if (period !== this.#period) return;
    const { clock, terms, permitsLastMs, askAgainMs } = this.#options;
    const now = clock.monotonic();
    this.#inHand = granted + (now - this.#drawnAt < permitsLastMs ? this.#inHand : 0);
    this.#drawnAt = now;
    // A budget that refills changes within seconds: its blocks keep their size.
    if (terms.refillMs === null) this.#left = left;
    this.#waitUntil = now + waitMs;
    const again = terms.refillMs === null ? askAgainMs : Math.min(Math.max(waitMs, 1), askAgainMs);
    this.#refusedUntil = granted > 0 ? Number.NEGATIVE_INFINITY : now + again;
  }

  #enterPeriod(): void {
    const period = this.#options.period();
    if (period === this.#period) return;
    this.#period = period;
    this.#inHand = 0;
    this.#left = this.#options.terms.limit;
    this.#refusedUntil = Number.NEGATIVE_INFINITY;
  }
}
