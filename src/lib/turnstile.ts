/**
 * Lets one caller pass in each turn of the event loop, in the order of their coming, so that whatever is ready besides
 * is served between two of them.
 */
export class Turnstile {
  #waiting: (() => void)[] = [];
  /** Those before it have passed. */
  #head = 0;
  #turning = false;

  get waiting(): number {
    return this.#waiting.length - this.#head;
  }

  pass(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#turning) return;
      this.#turning = true;
      setImmediate(() => this.#turn());
    });
  }

  #turn(): void {
    this.#waiting[this.#head++]?.();
    this.#turning = this.waiting > 0;
    if (this.#turning) setImmediate(() => this.#turn());
    if (this.#turning && this.#head < 1024) return;
    this.#waiting = this.#waiting.slice(this.#head);
    this.#head = 0;
  }
}
