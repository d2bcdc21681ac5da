import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

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
  /** When each entry ends, oldest first. */
  readonly #ends = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#ends.size;
  }

  holds(name: string, password: string, stored: string): boolean {
    const entry = this.#entryOf(name, password, stored);
    const end = this.#ends.get(entry);
    if (end === undefined) return false;
    if (this.#clock.monotonic() < end) return true;
    this.#ends.delete(entry);
    return false;
  }

  remember(name: string, password: string, stored: string): void {
    const entry = this.#entryOf(name, password, stored);
    this.#ends.delete(entry);
    this.#ends.set(entry, this.#clock.monotonic() + LASTS_MS);
    if (this.#ends.size <= MAX_ENTRIES) return;
    const [oldest] = this.#ends.keys();
    if (oldest !== undefined) this.#ends.delete(oldest);
  }

  #entryOf(...parts: readonly string[]): string {
    const hmac = createHmac('sha256', this.#key);
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}\0`).update(part);
    return hmac.digest('base64');
  }
}
