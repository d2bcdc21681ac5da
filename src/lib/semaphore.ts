interface Waiter {
  readonly priority: number;
  readonly admit: () => void;
}

/** Admits at most `limit` concurrent holders; the others wait by priority, then by arrival. */
export class Semaphore {
  readonly #maxWaiting: number;
  readonly #queue: Waiter[] = [];
  readonly #limit: number;
  #inUse = 0;

  /** `maxWaiting`: how many may wait before `full` is true. */
  constructor(limit: number, { maxWaiting = Number.POSITIVE_INFINITY } = {}) {
    if (!Number.isInteger(limit) || limit < 1) {
      throw new RangeError(`A semaphore's limit must be a whole number from 1, not ${limit}.`);
    }
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Whether the next caller would have to wait beyond `maxWaiting`; the caller decides whether to refuse. */
  get full(): boolean {
    return this.#inUse >= this.#limit && this.#queue.length >= this.#maxWaiting;
  }

  /** Resolves to a function that releases the place; it may be called twice. Rejects with the signal's reason. */
  async acquire(signal?: AbortSignal, priority = 0): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#inUse >= this.#limit) return this.#wait(signal, priority);
    this.#inUse++;
    return this.#releaser();
  }

  async during<Result>(
    work: () => Promise<Result>,
    signal?: AbortSignal,
    priority?: number,
  ): Promise<Result> {
    const release = await this.acquire(signal, priority);
    try {
      return await work();
    } finally {
      release();
    }
  }

  #wait(signal: AbortSignal | undefined, priority: number): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      const admit = () => {
        signal?.removeEventListener('abort', leave);
        resolve(this.#releaser());
      };
      const waiter: Waiter = { priority, admit };
      this.#enqueue(waiter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #enqueue(waiter: Waiter): void {
    const ahead = this.#queue.findLastIndex((other) => other.priority >= waiter.priority);
    this.#queue.splice(ahead + 1, 0, waiter);
  }

  #releaser(): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.#queue.shift();
      if (next) next.admit();
      else this.#inUse--;
    };
  }
}

/** Lets one caller pass in each turn of the event loop, in order of arrival, so that other work is served between two of them. */
export class Turnstile {
  #waiting: (() => void)[] = [];
  /** Index in `#waiting`: the callers before it have passed. */
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
