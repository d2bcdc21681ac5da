import { Budget, type Ledger } from '../lib/budget.ts';
import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { HeldKey } from './reader-key.ts';

interface KeyLedgers {
  readonly rates: Ledger;
  readonly days: Ledger;
}

/** Seconds to wait; null: the request may be answered. */
type Verdict = number | null;

interface KeyBudgets {
  readonly rate: Budget | null;
  readonly day: Budget | null;
}

const DAY_MS = 86_400_000;
/** A key without requests for this long gives back its unused permits of the day. */
const IDLE_MS = 1000;
/** For `Budget`: a process draws permits in blocks of a 20th or 200th of those left, at most 5000. */
const RATE = { blocks: 20, permitsLastMs: 250 };
const DAY = { blocks: 200, permitsLastMs: Number.POSITIVE_INFINITY };
const BLOCKS = { maxBlock: 5000, askAgainMs: 1000 };

/** Counts requests against the limits of their reader keys; most of them without a promise. */
export class KeyMeter {
  readonly #clock: Clock;
  readonly #ledgers: KeyLedgers;
  readonly #budgets = new Map<number, KeyBudgets>();
  #uses = new Map<number, { answered: number; refused: number }>();

  constructor(clock: Clock, ledgers: KeyLedgers) {
    this.#clock = clock;
    this.#ledgers = ledgers;
  }

  admit(key: HeldKey): Verdict | Promise<Verdict> {
    const { ratePerSecond, requestsPerDay } = key;
    if (ratePerSecond === null && requestsPerDay === null) return this.#counted(key, null);
    const budgets = getOrCreate(this.#budgets, key.id, () => this.#open(key));
    const rateMs = budgets.rate && takePermit(budgets.rate);
    if (rateMs instanceof Promise) return rateMs.then((wait) => this.#afterRate(key, budgets, wait));
    return this.#afterRate(key, budgets, rateMs);
  }

  /** Requests by key since the last call. */
  takeUses() {
    const uses = Array.from(this.#uses, ([id, use]) => ({ id, ...use }));
    this.#uses = new Map();
    return uses;
  }

  /** Gives back the day's permits of idle keys, or of all keys. */
  async giveBack(all = false): Promise<void> {
    for (const [id, { rate, day }] of this.#budgets) {
      const isIdle = (rate?.isIdle(IDLE_MS) ?? true) && (day?.isIdle(IDLE_MS) ?? true);
      if (isIdle) this.#budgets.delete(id);
      if (isIdle || all) await day?.giveBack();
    }
  }

  #afterRate(key: HeldKey, { day }: KeyBudgets, waitMs: number | null): Verdict | Promise<Verdict> {
    if (waitMs !== null || !day) return this.#counted(key, seconds(waitMs));
    const late = takePermit(day);
    return late instanceof Promise ? late.then((ms) => this.#afterDay(key, ms)) : this.#afterDay(key, late);
  }

  #afterDay(key: HeldKey, waitMs: number | null): Verdict {
    return this.#counted(key, waitMs === null ? null : seconds(DAY_MS - (this.#clock.now() % DAY_MS)));
  }

  #counted({ id }: HeldKey, verdict: Verdict): Verdict {
    const use = getOrCreate(this.#uses, id, () => ({ answered: 0, refused: 0 }));
    if (verdict === null) use.answered++;
    else use.refused++;
    return verdict;
  }

  #open({ id, ratePerSecond, requestsPerDay }: HeldKey): KeyBudgets {
    const [clock, scope] = [this.#clock, keyScope(id)];
    const { rates, days } = this.#ledgers;
    const open = (
      ledger: Ledger,
      period: () => string,
      limit: number,
      refillMs: number | null,
      how: typeof RATE,
    ) => new Budget({ ...BLOCKS, ...how, clock, ledger, scope, period, terms: { limit, refillMs } });
    return {
      rate:
        ratePerSecond === null ? null : open(rates, () => 'rate', ratePerSecond, 1000 / ratePerSecond, RATE),
      day:
        requestsPerDay === null
          ? null
          : open(days, () => dayName(dayOf(clock.now())), requestsPerDay, null, DAY),
    };
  }
}

/** Milliseconds to wait; null: a permit was taken. */
function takePermit(budget: Budget): number | null | Promise<number | null> {
  const wait = budget.take();
  if (wait !== undefined) return wait;
  const filling = budget.fill();
  return filling ? filling.then(() => takePermit(budget)) : takePermit(budget);
}

function seconds(ms: number | null): Verdict {
  return ms === null ? null : Math.max(1, Math.ceil(ms / 1000));
}

export function keyScope(id: number): string {
  return `reader-key ${id}`;
}

export function dayName(day: number): string {
  return `day ${day}`;
}

/** Days since 1970, UTC. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}
