import type { Permit, UpstreamPriority } from './upstream-limiter.ts';

export interface Waiter {
  readonly priority: UpstreamPriority;
  readonly again: boolean;
  readonly admit: (permit: Permit) => void;
  readonly refuse: (error: unknown) => void;
}

/** Those who wait for one host: people before tasks, and in the order of their coming. */
export class WaitingLine {
  readonly #people = new Set<Waiter>();
  readonly #tasks = new Set<Waiter>();

  get size(): number {
    return this.#people.size + this.#tasks.size;
  }

  count(priority: UpstreamPriority): number {
    return this.#of(priority).size;
  }

  first(): Waiter | null {
    for (const waiter of this.#people) return waiter;
    for (const waiter of this.#tasks) return waiter;
    return null;
  }

  /** Resolves when it is admitted; leaves with the signal's reason. */
  join(priority: UpstreamPriority, signal: AbortSignal, again: boolean): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const leave = () => leaveLine(() => reject(signal.reason));
      const leaveLine = (tell: () => void) => {
        this.#of(priority).delete(waiter);
        signal.removeEventListener('abort', leave);
        tell();
      };
      const waiter: Waiter = {
        priority,
        again,
        admit: (permit) => leaveLine(() => resolve(permit)),
        refuse: (error) => leaveLine(() => reject(error)),
      };
      this.#of(priority).add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  refuseAll(priority: UpstreamPriority, error: () => unknown): number {
    const waiters = [...this.#of(priority)];
    for (const waiter of waiters) waiter.refuse(error());
    return waiters.length;
  }

  #of(priority: UpstreamPriority): Set<Waiter> {
    return priority === 'interactive' ? this.#people : this.#tasks;
  }
}
