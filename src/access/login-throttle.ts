import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { AttemptBucket } from './attempt-bucket.ts';
import { sourceOf } from './source-of.ts';

/** A try that has been allowed. It counts as failed unless it is said otherwise. */
export interface Attempt {
  /** This account has been logged in to from there before. */
  readonly trusted: boolean;
  succeeded(): void;
  /** The password was never looked at. */
  withdrawn(): void;
}

const MAX_ENTRIES = 10_000;
const FORGOTTEN_AT_ONCE = 1000;

/**
 * Slows down guessing, by where it comes from and by what it aims at. Where an account has been logged in to
 * before keeps tries of its own for it: strangers cannot lock its owner out by failing.
 */
export class LoginThrottle {
  readonly #clock: Clock;
  readonly #sources = new Map<string, AttemptBucket>();
  readonly #accounts = new Map<string, AttemptBucket>();
  readonly #trusted = new Map<string, AttemptBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How much is remembered. */
  get size(): number {
    return this.#sources.size + this.#accounts.size + this.#trusted.size;
  }

  /** Whether this account has been logged in to from there before. */
  trusts(address: string, account: string): boolean {
    return this.#trusted.has(pairOf(address, account));
  }

  /** Throws `attempts-throttled`, which says when to come back. */
  begin(address: string, account: string): Attempt {
    const now = this.#clock.monotonic();
    const pair = pairOf(address, account);
    const reserve = this.#trusted.get(pair);
    const charged = reserve ? [reserve] : this.#ordinary(sourceOf(address), account, now);
    const wait = waitFor(charged, now);
    if (wait > 0) throw tooMany(wait);
    return this.#attempt(
      pair,
      charged.map((bucket) => bucket.take(now)),
      reserve !== undefined,
    );
  }

  #ordinary(source: string, account: string, now: number): readonly AttemptBucket[] {
    return [bucketOf(this.#sources, source, now), bucketOf(this.#accounts, account, now)];
  }

  #attempt(pair: string, undos: readonly (() => void)[], trusted: boolean): Attempt {
    const withdrawn = () => {
      for (const undo of undos) undo();
    };
    return {
      trusted,
      withdrawn,
      succeeded: () => {
        withdrawn();
        bucketOf(this.#trusted, pair, this.#clock.monotonic());
      },
    };
  }
}

function pairOf(address: string, account: string): string {
  return `${sourceOf(address)}\n${account}`;
}

/** An account that many guess at still lets in a first try from where nothing has failed. */
function waitFor([first, ...others]: readonly AttemptBucket[], now: number): number {
  if (!first || first.isFull(now)) return 0;
  return Math.max(...[first, ...others].map((bucket) => bucket.wait(now)));
}

/** Bounded: of too many, those that were not asked for longest are forgotten. */
function bucketOf(buckets: Map<string, AttemptBucket>, key: string, now: number): AttemptBucket {
  const bucket = buckets.get(key) ?? new AttemptBucket(now);
  buckets.delete(key);
  buckets.set(key, bucket);
  if (buckets.size > MAX_ENTRIES) forgetOldest(buckets);
  return bucket;
}

/** Many at once: a map is slow to say which of its entries is the oldest while it forgets them one by one. */
function forgetOldest(buckets: Map<string, AttemptBucket>): void {
  for (const key of buckets.keys()) {
    if (buckets.size <= MAX_ENTRIES - FORGOTTEN_AT_ONCE) return;
    buckets.delete(key);
  }
}

function tooMany(wait: number): TilewardenError {
  const retryAfterSeconds = Math.ceil(wait / 1000);
  return new TilewardenError(
    'attempts-throttled',
    `Too many failed attempts; try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
}
