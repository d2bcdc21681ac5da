/**
 * Slows down password guessing, by source (`sourceOf`) and by account. A source that has logged in to an account has
 * separate tries for it, so that others cannot lock its owner out. A source without recent failures may always try.
 */
import { isIPv6 } from 'node:net';
import { TilewardenError } from '../domain/errors.ts';
import { type Changed, createMemoryLedger, type Ledger, refilled, type Tally } from '../lib/budget.ts';
import type { Clock } from '../lib/clock.ts';
import { RecentMap } from '../lib/recent-map.ts';

/** An allowed try. It counts as failed unless one of its methods is called. */
export interface Attempt {
  readonly standing: Standing;
  succeeded(): void;
  /** The password was not checked. */
  withdrawn(): void;
  /** Too many logins are in progress to check the password; the source is not `calm` for a while. Returns the error. */
  crowdedOut(): TilewardenError;
}

/**
 * Rating of the source of a login, best first. `known`: an earlier login to this account came from it. `calm`: no
 * recent failures. `restless`: all others.
 */
export const STANDINGS = ['known', 'calm', 'restless'] as const;
export type Standing = (typeof STANDINGS)[number];

const MAX_KNOWN = 10_000;
const CROWDED_OUT_MS = 2000;
/** Ten failed tries, of which one comes back every half minute. */
const TERMS = { limit: 10, refillMs: 30_000 };
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 15 * 60_000;
const FORGIVEN_AFTER_MS = 60 * 60_000;
/** Milliseconds for which a refusal is repeated without reading the ledger. */
const REFUSED_MS = 1000;

interface LoginThrottleOptions {
  /** Default: a ledger of this process. */
  readonly ledger?: Ledger;
  /** Scope of the tallies, which separates throttles of different purposes. */
  readonly scope?: string;
}

interface Verdict {
  readonly standing: Standing;
  /** Milliseconds until the next try; 0: this one is allowed. */
  readonly wait: number;
  /** For each charged tally: whether it lost a try, and whether that began a pause. */
  readonly takes: readonly Take[];
}

interface Take {
  readonly counts: boolean;
  readonly pauses: boolean;
}

export class LoginThrottle {
  readonly #clock: Clock;
  readonly #ledger: Ledger;
  readonly #scope: string;
  readonly #known = new RecentMap<string, true>(MAX_KNOWN);
  readonly #refused = new RecentMap<string, { readonly at: number; readonly until: number }>(MAX_KNOWN);

  constructor(
    clock: Clock,
    { ledger = createMemoryLedger(clock), scope = 'login' }: LoginThrottleOptions = {},
  ) {
    this.#clock = clock;
    this.#ledger = ledger;
    this.#scope = scope;
  }

  /** Whether this account has had a login from this address. */
  trusts(address: string, account: string): boolean {
    return this.#known.get(pairOf(address, account)) !== null;
  }

  /** Throws `attempts-throttled` with the time to retry if `begin` did a moment ago. */
  check(address: string, account: string): void {
    const refused = this.#refused.get(pairOf(address, account));
    const now = this.#clock.monotonic();
    if (refused && now < Math.min(refused.until, refused.at + REFUSED_MS)) throw tooMany(refused.until - now);
  }

  /** Throws `attempts-throttled` with the time to retry. */
  async begin(address: string, account: string): Promise<Attempt> {
    const pair = pairOf(address, account);
    const names = this.trusts(address, account)
      ? [`known ${pair}`]
      : [`source ${sourceOf(address)}`, `account ${account}`];
    const { standing, wait, takes } = await this.#ledger.change(this.#scope, names, charged);
    if (wait === 0) return this.#attempt(pair, names, standing, takes);
    const at = this.#clock.monotonic();
    this.#refused.set(pair, { at, until: at + wait }, 1);
    throw tooMany(wait);
  }

  #attempt(pair: string, names: readonly string[], standing: Standing, takes: readonly Take[]): Attempt {
    const giveBack = (afterwards: (tally: Tally, name: string) => Tally) => {
      const done = this.#ledger.change(this.#scope, names, (tallies, now) => ({
        result: null,
        tallies: tallies.map((tally, i) => {
          const back = tally && undone(refilled(tally, TERMS, now), takes[i]);
          return back && lasting(afterwards(back, names[i] ?? ''), now);
        }),
      }));
      // If the ledger fails, the try comes back with time.
      if (done instanceof Promise) done.catch(() => {});
    };
    return {
      standing,
      withdrawn: () => giveBack((tally) => tally),
      crowdedOut: () => {
        const isKnown = standing === 'known';
        // The source lacks one try for half a minute; repeated, this never starts a pause.
        giveBack((tally, name) =>
          name.startsWith('source ') ? { ...tally, used: Math.max(tally.used, 1) } : tally,
        );
        return retryIn(isKnown ? CROWDED_OUT_MS : TERMS.refillMs, 'Too many concurrent login attempts');
      },
      succeeded: () => {
        giveBack((tally) => tally);
        this.#known.set(pair, true, 1);
        this.#refused.delete(pair);
      },
    };
  }
}

/** Takes a try from each tally, if the login is allowed. */
function charged(tallies: readonly (Tally | null)[], now: number): Changed<Verdict> {
  const before = tallies.map((tally) => forgiven(refilled(tally, TERMS, now), now));
  const { standing, wait } = judge(before, now);
  if (wait > 0) return { result: { standing, wait, takes: [] }, tallies: before.map(() => null) };
  const takes = before.map((tally) => {
    const counts = pauseOf(tally, now) === 0;
    return { counts, pauses: counts && TERMS.limit - tally.used - 1 < 1 };
  });
  const after = before.map((tally, i) => lasting(spent(tally, takes[i], now), now));
  return { result: { standing, wait, takes }, tallies: after };
}

function judge([source, account]: readonly Tally[], now: number): Pick<Verdict, 'standing' | 'wait'> {
  if (!source || !account) return { standing: 'known', wait: source ? pauseOf(source, now) : 0 };
  const untilCalm = fullAt(source, now) - now;
  if (untilCalm <= 0) return { standing: 'calm', wait: 0 };
  const [wait, accountWait] = [pauseOf(source, now), pauseOf(account, now)];
  // An account under attack is open to a source again as soon as the source is calm.
  return { standing: 'restless', wait: Math.max(wait, Math.min(accountWait, untilCalm)) };
}

function pauseOf({ pausedUntil }: Tally, now: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(0, pausedUntil - now));
}

/** When all tries are available again, and earlier pauses no longer prolong the next one. */
function fullAt({ used, pauses, pausedUntil }: Tally, now: number): number {
  return Math.max(
    now + Math.floor(used * TERMS.refillMs),
    pauses > 0 ? pausedUntil + FORGIVEN_AFTER_MS : now,
  );
}

function forgiven(tally: Tally, now: number): Tally {
  return now - tally.pausedUntil >= FORGIVEN_AFTER_MS ? { ...tally, pauses: 0 } : tally;
}

/** Tries during a pause do not count. The last available try starts a pause, twice as long each time. */
function spent(tally: Tally, take: Take | undefined, now: number): Tally {
  if (!take?.counts) return tally;
  const used = Math.min(TERMS.limit, tally.used + 1);
  if (!take.pauses) return { ...tally, used };
  const pausedUntil = now + Math.min(FIRST_PAUSE_MS * 2 ** tally.pauses, MAX_PAUSE_MS);
  return { ...tally, used, pausedUntil, pauses: tally.pauses + 1 };
}

function undone(tally: Tally, take: Take | undefined): Tally {
  if (!take?.counts) return tally;
  const used = Math.max(0, tally.used - 1);
  return take.pauses
    ? { ...tally, used, pausedUntil: 0, pauses: Math.max(0, tally.pauses - 1) }
    : { ...tally, used };
}

function lasting(tally: Tally, now: number): Tally {
  return { ...tally, endsAt: fullAt(tally, now) };
}

function pairOf(address: string, account: string): string {
  return `${sourceOf(address)}\n${account}`;
}

function tooMany(ms: number): TilewardenError {
  return retryIn(ms, 'Too many failed attempts');
}

/** Without a stack trace, which would cost more than the rest of the refusal. */
function retryIn(ms: number, reason: string): TilewardenError {
  const retryAfterSeconds = Math.ceil(ms / 1000);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new TilewardenError('attempts-throttled', `${reason}; try again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds,
    });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The source that a failed try counts against: an IPv4 address, or the /64 of an IPv6 address, whose rest a client chooses. */
export function sourceOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  // `URL` gives the shortest form: lower case, no leading zeros, and a dotted end as two groups.
  const { hostname } = new URL(`http://[${plain}]`);
  const halves = hostname.slice(1, -1).split('::');
  const [before = [], after = []] = halves.map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}
