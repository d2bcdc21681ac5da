export type UpstreamPriority = 'interactive' | 'task';

export interface RequestEnd {
  /**
   * `answered`: a useful response. `overloaded`: the host reported overload. `failed`: it was unreachable, too slow or
   * reported a failure. `refused`: a useless response. `left`: the caller stopped waiting.
   */
  readonly kind: 'answered' | 'overloaded' | 'failed' | 'refused' | 'left';
  /** For metrics: one of a short list; null: success. */
  readonly reason: string | null;
  /** From sending the request to the end of its response. */
  readonly ms: number;
  readonly retryAfterMs: number | null;
}

export interface Permit {
  /** Releases the slot; further calls have no effect. */
  end(end: RequestEnd): void;
}

export interface Waiter {
  readonly priority: UpstreamPriority;
  readonly admit: (permit: Permit) => void;
  readonly refuse: (error: unknown) => void;
}

/** Requests that wait for one host: interactive ones before tasks, then by arrival. */
export class WaitingLine {
  readonly #waiters = { interactive: new Set<Waiter>(), task: new Set<Waiter>() };

  get size(): number {
    return this.count('interactive') + this.count('task');
  }

  count(priority: UpstreamPriority): number {
    return this.#waiters[priority].size;
  }

  first(): Waiter | null {
    const { interactive, task } = this.#waiters;
    for (const waiter of interactive.size > 0 ? interactive : task) return waiter;
    return null;
  }

  /** Resolves when the request is admitted; rejects when it is refused or with the signal's reason. */
  join(priority: UpstreamPriority, signal: AbortSignal): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const leave = () => waiter.refuse(signal.reason);
      const left = <Result>(settle: (result: Result) => void) => {
        return (result: Result) => {
          this.#waiters[priority].delete(waiter);
          signal.removeEventListener('abort', leave);
          settle(result);
        };
      };
      const waiter: Waiter = { priority, admit: left<Permit>(resolve), refuse: left(reject) };
      this.#waiters[priority].add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  refuseAll(priority: UpstreamPriority, error: () => unknown): void {
    for (const waiter of this.#waiters[priority]) waiter.refuse(error());
  }
}
