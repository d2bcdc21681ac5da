import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { RecentMap } from '../lib/recent-map.ts';

const LASTS_MS = 5 * 60_000;
const MAX_ENTRIES = 1000;

/**
 * Remembers which passwords have been checked: HTTP Basic sends them with every request, and checking one takes
 * half a second. Only a keyed hash is kept, of the name, the password and the stored text it matched; when the
 * stored text changes, in whatever process, the old entry is never found again.
 */
export class CredentialCache {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  /** When each entry ends. */
  readonly #ends = new RecentMap<string, number>(MAX_ENTRIES);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#ends.weight;
  }

  /** The name under which these are remembered; it tells nothing about them. */
  entryOf(name: string, password: string, stored: string): string {
    const hmac = createHmac('sha256', this.#key);
    for (const part of [name, password, stored]) hmac.update(`${Buffer.byteLength(part)}\0`).update(part);
    return hmac.digest('base64');
  }

  /** What is used stays. */
  holds(entry: string): boolean {
    const end = this.#ends.get(entry);
    if (end === null || this.#clock.monotonic() >= end) return false;
    this.remember(entry);
    return true;
  }

  remember(entry: string): void {
    this.#ends.set(entry, this.#clock.monotonic() + LASTS_MS, 1);
  }
}
