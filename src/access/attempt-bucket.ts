const CAPACITY = 10;
/** Ten failures in five minutes are anybody's right. */
const REFILL_MS = 30_000;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 15 * 60_000;
const FORGIVEN_AFTER_MS = 60 * 60_000;

/** Tries that refill with time. Who uses them up pauses, longer each time; pauses end by themselves, always. */
export class AttemptBucket {
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

  /** Milliseconds until every try is there again; 0: none has been used up lately. */
  untilFull(now: number): number {
    this.#refill(now);
    const missing = Math.floor((CAPACITY - this.#tries) * REFILL_MS);
    const unforgiven = this.#pauses > 0 ? this.#pausedUntil + FORGIVEN_AFTER_MS - now : 0;
    return Math.max(missing, unforgiven);
  }

  /** Returns what makes it undone: the try turned out to be none. Tries during a pause change nothing. */
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

  #pause(now: number): void {
    this.#pausedUntil = now + Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LONGEST_PAUSE_MS);
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
