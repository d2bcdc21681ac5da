import type { Clock } from '../lib/clock.ts';
import { hashSecret } from './api-token.ts';
import { type HeldKey, isReaderSecretShaped } from './reader-key.ts';

export interface KeyChange {
  readonly added: readonly HeldKey[];
  readonly removed: readonly number[];
}

/** All reader keys, in the memory of each server process, so that a request with a key needs no query. */
export class KeyRing {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #byHash = new Map<string, HeldKey>();
  readonly #byId = new Map<number, HeldKey>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  get ids(): Iterable<number> {
    return this.#byId.keys();
  }

  /** 0: no keys. */
  get lastId(): number {
    let last = 0;
    for (const id of this.ids) last = Math.max(last, id);
    return last;
  }

  get size(): number {
    return this.#byId.size;
  }

  all(): readonly HeldKey[] {
    return [...this.#byId.values()];
  }

  get(id: number): HeldKey | null {
    return this.#byId.get(id) ?? null;
  }

  change({ added, removed }: KeyChange): void {
    for (const key of added) {
      this.#byHash.set(key.hash, key);
      this.#byId.set(key.id, key);
    }
    for (const id of removed) {
      this.#byHash.delete(this.#byId.get(id)?.hash ?? '');
      this.#byId.delete(id);
    }
  }

  /** Null for a secret that is unknown, deleted or expired. */
  find(secret: string): HeldKey | null {
    if (!isReaderSecretShaped(secret)) return null;
    const key = this.#byHash.get(hashSecret(secret));
    return key && this.isValid(key) ? key : null;
  }

  /** Whether a key found earlier is still valid. */
  isValid(key: HeldKey): boolean {
    if (key.expiresAt !== null && key.expiresAt <= this.#clock.now()) return false;
    // Deleted keys are not in the map; another key with the same id is another object.
    return this.#byId.get(key.id) === key;
  }
}
