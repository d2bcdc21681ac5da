import { isIPv6 } from 'node:net';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';

/** An allowed try. It counts as failed until it is reported as successful. */
export interface Attempt {
  readonly standing: Standing;
  succeeded(): void;
  /** The password was not checked. */
  withdrawn(): void;
  /** Nor was it now: too many logins are in progress. Its source is not calm for a while. Returns the error with the time to retry. */
  crowdedOut(): TilewardenError;
}

const MAX_ENTRIES = 10_000;
const FORGOTTEN_AT_ONCE = 1000;
const CROWDED_OUT_MS = 2000;

/**
 * Slows down guessing, by where it comes from and by what it aims at. Where an account has been logged in to
 * before keeps tries of its own for it: strangers cannot lock its owner out by failing. And wherever it is calm a
 * try is allowed, however many fail elsewhere: an owner who is travelling can still sign in.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #sources = new Map<string, AttemptBucket>();
  readonly #accounts = new Map<string, AttemptBucket>();
  readonly #trusted = new Map<string, AttemptBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#sources.size + this.#accounts.size + this.#trusted.size;
  }

  /** Whether this account has been logged in to from there before. */
  trusts(address: string, account: string): boolean {
    return this.#trusted.has(pairOf(address, account));
  }

  /** Throws `attempts-throttled`, which says when to come back, if `begin` would. */
  check(address: string, account: string): void {
    this.#standingOf(address, account, this.#clock.monotonic());
  }

  /** Throws `attempts-throttled`, which says when to come back. */
  begin(address: string, account: string): Attempt {
    const now = this.#clock.monotonic();
    const standing = this.#standingOf(address, account, now);
    const undos = this.#charged(address, account, now).map((bucket) => bucket.take(now));
    return this.#attempt(address, account, standing, undos);
  }

  /** Another node has seen a wrong password. */
  failedElsewhere(address: string, account: string): void {
    const now = this.#clock.monotonic();
    for (const bucket of this.#charged(address, account, now)) bucket.take(now);
  }

  #charged(address: string, account: string, now: number): readonly AttemptBucket[] {
    const reserve = this.#trusted.get(pairOf(address, account));
    if (reserve) return [reserve];
    return [bucketOf(this.#sources, sourceOf(address), now), bucketOf(this.#accounts, account, now)];
  }

  #standingOf(address: string, account: string, now: number): Standing {
    const [source, target] = this.#charged(address, account, now);
    if (!source || !target) return knownStanding(source?.wait(now) ?? 0);
    const untilCalm = source.untilFull(now);
    if (untilCalm === 0) return 'calm';
    const [wait, targetWait] = [source.wait(now), target.wait(now)];
    if (Math.max(wait, targetWait) === 0) return 'restless';
    // An account that many guess at is open again to a source as soon as that one is calm.
    throw tooMany(Math.max(wait, Math.min(targetWait, untilCalm)));
  }

  #attempt(address: string, account: string, standing: Standing, undos: readonly (() => void)[]): Attempt {
    const withdrawn = () => {
      for (const undo of undos) undo();
    };
    return {
      standing,
      withdrawn,
      crowdedOut: () => {
        withdrawn();
        const now = this.#clock.monotonic();
        const isKnown = standing === 'known';
        if (!isKnown) bucketOf(this.#sources, sourceOf(address), now).disturb(now);
        return comeBack(isKnown ? CROWDED_OUT_MS : REFILL_MS, 'Too many concurrent login attempts');
      },
      succeeded: () => {
        withdrawn();
        bucketOf(this.#trusted, pairOf(address, account), this.#clock.monotonic());
      },
    };
  }
}

function knownStanding(wait: number): Standing {
  if (wait > 0) throw tooMany(wait);
  return 'known';
}

function pairOf(address: string, account: string): string {
  return `${sourceOf(address)}\n${account}`;
}

function bucketOf(buckets: Map<string, AttemptBucket>, key: string, now: number): AttemptBucket {
  return remember(buckets, key, buckets.get(key) ?? new AttemptBucket(now));
}

/** Bounded: the least recently used are evicted. */
function remember<Value>(known: Map<string, Value>, key: string, value: Value): Value {
  known.delete(key);
  known.set(key, value);
  if (known.size > MAX_ENTRIES) forgetOldest(known);
  return value;
}

/** Many together: a map is slow to say which of its entries is the oldest while it forgets them one by one. */
function forgetOldest(known: Map<string, unknown>): void {
  for (const key of known.keys()) {
    if (known.size <= MAX_ENTRIES - FORGOTTEN_AT_ONCE) return;
    known.delete(key);
  }
}

function tooMany(ms: number): TilewardenError {
  return comeBack(ms, 'Too many failed attempts');
}

/** Refusals are not recorded: that would cost more than the rest of them. */
function comeBack(ms: number, reason: string): TilewardenError {
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

/** The source that a failed attempt counts against: an IPv4 address, or the /64 of an IPv6 address, whose rest a client chooses. */
export function sourceOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.toLowerCase().split('::');
  const before = groupsOf(head);
  const missing = tail === undefined ? 0 : 8 - before.length - groupsOf(tail).length;
  const groups = [...before, ...Array<string>(Math.max(0, missing)).fill('0'), ...groupsOf(tail ?? '')];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

function groupsOf(text: string): readonly string[] {
  if (text === '') return [];
  // The dotted end of an address such as 64:ff9b::192.0.2.1 stands for two groups.
  return text.split(':').flatMap((group) => (group.includes('.') ? [group, group] : [group]));
}

/**
 * What is known of where a login comes from, best first. `known`: this account has been logged in to from there before.
 * `calm`: nothing has failed there lately. `restless`: all others.
 */
export const STANDINGS = ['known', 'calm', 'restless'] as const;
export type Standing = (typeof STANDINGS)[number];

const CAPACITY = 10;
/** Ten failures in five minutes are allowed. */
const REFILL_MS = 30_000;
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 15 * 60_000;
const FORGIVEN_AFTER_MS = 60 * 60_000;

/** Tries that refill with time. Using them up starts a pause, longer each time; every pause ends. */
class AttemptBucket {
  #tries = CAPACITY;
  #filledAt: number;
  #pauses = 0;
  #pausedUntil = 0;

  constructor(now: number) {
    this.#filledAt = now;
  }

  /** Milliseconds until the next try is allowed; 0: now. */
  wait(now: number): number {
    this.#refill(now);
    return Math.max(0, this.#pausedUntil - now);
  }

  /** Milliseconds until all tries are available again; 0: they are. */
  untilFull(now: number): number {
    this.#refill(now);
    const missing = Math.floor((CAPACITY - this.#tries) * REFILL_MS);
    const unforgiven = this.#pauses > 0 ? this.#pausedUntil + FORGIVEN_AFTER_MS - now : 0;
    return Math.max(missing, unforgiven);
  }

  /** Returns a function that undoes it, if the try did not count. Tries during a pause change nothing. */
  take(now: number): () => void {
    if (this.wait(now) > 0) return () => {};
    this.#tries = Math.max(0, this.#tries - 1);
    const emptied = this.#tries < 1;
    if (emptied) this.#pause(now);
    return () => {
      this.#tries = Math.min(CAPACITY, this.#tries + 1);
      if (emptied) this.#unpause();
    };
  }

  /** For half a minute not every try is there; it leads to no pause, however often. */
  disturb(now: number): void {
    this.#refill(now);
    this.#tries = Math.min(this.#tries, CAPACITY - 1);
  }

  #pause(now: number): void {
    this.#pausedUntil = now + Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, MAX_PAUSE_MS);
    this.#pauses += 1;
  }

  #unpause(): void {
    this.#pausedUntil = 0;
    this.#pauses = Math.max(0, this.#pauses - 1);
  }

  #refill(now: number): void {
    if (now - this.#pausedUntil >= FORGIVEN_AFTER_MS) this.#pauses = 0;
    this.#tries = Math.min(CAPACITY, this.#tries + (now - this.#filledAt) / REFILL_MS);
    this.#filledAt = now;
  }
}
