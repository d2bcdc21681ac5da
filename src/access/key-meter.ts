import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { HeldKey } from './reader-key.ts';

export type LimitKind = 'rate' | 'day';

export interface Draw {
  readonly id: number;
  readonly kind: LimitKind;
  readonly wanted: number;
}

export interface Grant {
  readonly granted: number;
  /** How many are left for others. */
  readonly left: number;
  /** Until more may be granted, where none is. */
  readonly waitMs: number;
}

/** Requests of a day that were drawn and not used. */
export interface Unused {
  readonly id: number;
  readonly day: number;
  readonly count: number;
}

/** Where the limits of all processes, and where nodes share a database of all nodes, are counted. */
export interface LimitSupply {
  draw(draw: Draw): Grant | Promise<Grant>;
  putBack(unused: readonly Unused[]): void;
}

export interface KeyUse {
  readonly id: number;
  readonly answered: number;
  readonly refused: number;
}

/** Permits of one limit that this process has drawn and not used. */
interface Hand {
  permits: number;
  /** When they were drawn or last used. */
  usedAt: number;
  day: number;
  refusedUntil: number;
  waitUntil: number;
  wanted: number;
  drawing: Promise<void> | null;
}

const DAY_MS = 86_400_000;
/** Permits of a rate that are not used by then are lost: later they would exceed it. */
const RATE_PERMITS_LAST_MS = 250;
const DAY_PERMITS_LAST_MS = 1000;
/** The supply is queried again after this long, as others may have put permits back. */
const ASK_AGAIN_MS = 1000;
const MAX_BLOCK = 5000;
/** Blocks of this size or more are drawn before the last is used up, so that no request waits. */
const DRAWN_AHEAD = 100;
const BLOCKS_PER_DAY = 200;
const BLOCKS_PER_SECOND = 20;

/** Seconds to wait; null: the request may be answered. */
type Verdict = number | null;

/**
 * Counts requests against the limits of their keys. Permits are drawn in blocks, smaller as the limit comes near, so
 * that most requests wait for nothing.
 */
export class KeyMeter {
  readonly #clock: Clock;
  readonly #supply: LimitSupply;
  readonly #hands: Readonly<Record<LimitKind, Map<number, Hand>>> = { rate: new Map(), day: new Map() };
  #uses = new Map<number, { answered: number; refused: number }>();

  constructor(clock: Clock, supply: LimitSupply) {
    this.#clock = clock;
    this.#supply = supply;
  }

  admit(key: HeldKey): Verdict | Promise<Verdict> {
    const { ratePerSecond, requestsPerDay } = key;
    if (ratePerSecond === null && requestsPerDay === null) return this.#counted(key, null);
    const rate = ratePerSecond === null ? null : this.#take(key, 'rate', ratePerSecond);
    if (rate instanceof Promise) return rate.then((wait) => this.#afterRate(key, wait));
    return this.#afterRate(key, rate);
  }

  /** Uses since the last call. */
  takeUses(): readonly KeyUse[] {
    const taken = Array.from(this.#uses, ([id, use]) => ({ id, ...use }));
    this.#uses = new Map();
    return taken;
  }

  /** Gives back unused permits, or all of them. */
  putBack(all = false): void {
    const now = this.#clock.monotonic();
    const unused: Unused[] = [];
    for (const [id, hand] of this.#hands.day) {
      if (!all && (hand.drawing || now - hand.usedAt < DAY_PERMITS_LAST_MS)) continue;
      if (hand.permits > 0) unused.push({ id, day: hand.day, count: hand.permits });
      hand.permits = 0;
      if (!hand.drawing) this.#hands.day.delete(id);
    }
    for (const [id, hand] of this.#hands.rate) {
      if (now - hand.usedAt > ASK_AGAIN_MS && !hand.drawing) this.#hands.rate.delete(id);
    }
    if (unused.length > 0) this.#supply.putBack(unused);
  }

  #afterRate(key: HeldKey, wait: Verdict): Verdict | Promise<Verdict> {
    if (wait !== null || key.requestsPerDay === null) return this.#counted(key, wait);
    const day = this.#take(key, 'day', key.requestsPerDay);
    return day instanceof Promise ? day.then((late) => this.#counted(key, late)) : this.#counted(key, day);
  }

  #counted({ id }: HeldKey, verdict: Verdict): Verdict {
    const use = getOrCreate(this.#uses, id, () => ({ answered: 0, refused: 0 }));
    if (verdict === null) use.answered++;
    else use.refused++;
    return verdict;
  }

  #take(key: HeldKey, kind: LimitKind, limit: number): Verdict | Promise<Verdict> {
    const hand = getOrCreate(this.#hands[kind], key.id, () => newHand(kind, limit));
    const decision = this.#decided(hand, kind);
    if (decision !== undefined) {
      this.#drawAhead(key.id, kind, hand);
      return decision;
    }
    hand.drawing ??= this.#draw(key.id, kind, hand);
    const drawn = hand.drawing;
    if (drawn === null) return this.#decided(hand, kind) as Verdict;
    return drawn.then(() => this.#take(key, kind, limit));
  }

  #drawAhead(id: number, kind: LimitKind, hand: Hand): void {
    const isNear = hand.permits * 2 <= hand.wanted && hand.permits > 0 && hand.wanted >= DRAWN_AHEAD;
    if (kind === 'rate' || hand.drawing || !isNear) return;
    hand.drawing = this.#draw(id, kind, hand);
    // A request that finds no permit draws again, and fails by itself.
    hand.drawing?.catch(() => {});
  }

  /** Undefined: the supply has to be queried. */
  #decided(hand: Hand, kind: LimitKind): Verdict | undefined {
    const now = this.#clock.monotonic();
    const lasts = kind === 'rate' ? now - hand.usedAt < RATE_PERMITS_LAST_MS : hand.day === this.#today();
    if (hand.permits > 0 && lasts) {
      hand.permits--;
      if (kind === 'day') hand.usedAt = now;
      return null;
    }
    if (now < hand.refusedUntil) return Math.max(1, Math.ceil((hand.waitUntil - now) / 1000));
    return undefined;
  }

  /** Null: it was granted or refused without waiting. */
  #draw(id: number, kind: LimitKind, hand: Hand): Promise<void> | null {
    const day = this.#today();
    const grant = this.#supply.draw({ id, kind, wanted: hand.wanted });
    if (!(grant instanceof Promise)) {
      this.#useGrant(hand, grant, day);
      return null;
    }
    return grant
      .then((given) => this.#useGrant(hand, given, day))
      .finally(() => {
        hand.drawing = null;
      });
  }

  #useGrant(hand: Hand, { granted, left, waitMs }: Grant, day: number): void {
    const now = this.#clock.monotonic();
    hand.permits = granted + (hand.day === day ? hand.permits : 0);
    hand.usedAt = now;
    if (hand.day !== RATE) hand.day = day;
    if (hand.day !== RATE) hand.wanted = blockOf(left, BLOCKS_PER_DAY);
    hand.waitUntil = now + waitMs;
    hand.refusedUntil = granted > 0 ? 0 : now + Math.min(Math.max(waitMs, 1), ASK_AGAIN_MS);
  }

  #today(): number {
    return dayOf(this.#clock.now());
  }
}

const RATE = -1;

function newHand(kind: LimitKind, limit: number): Hand {
  return {
    permits: 0,
    usedAt: 0,
    day: kind === 'rate' ? RATE : 0,
    refusedUntil: 0,
    waitUntil: 0,
    wanted: blockOf(limit, kind === 'rate' ? BLOCKS_PER_SECOND : BLOCKS_PER_DAY),
    drawing: null,
  };
}

function blockOf(limit: number, blocks: number): number {
  return Math.min(MAX_BLOCK, Math.max(1, Math.floor(limit / blocks)));
}

/** Days since 1970, UTC. */
export function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** Until the next day begins. */
export function restOfDay(now: number): number {
  return DAY_MS - (now % DAY_MS);
}
