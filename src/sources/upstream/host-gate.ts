import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { linkAbort } from './linked-abort.ts';
import { RateWindow } from './rate-window.ts';

export type UpstreamPriority = 'interactive' | 'task';

export interface HostGateOptions {
  readonly concurrency: number;
  readonly ratePerSecond: number | null;
  /** More than this many waiting requests are turned away. */
  readonly maxWaiting: number;
  /** How long a person is kept waiting for a place. Tasks wait until they are stopped. */
  readonly maxInteractiveWaitMs: number;
}

const PRIORITIES: Readonly<Record<UpstreamPriority, number>> = { interactive: 1, task: 0 };

/**
 * Lets requests to one host begin: so many at once, so many a second, people before tasks. One request at a
 * time waits for a place and a moment; all others queue behind it by priority, so a task never holds a place
 * that it cannot use yet.
 */
export class HostGate {
  readonly #options: HostGateOptions;
  readonly #clock: Clock;
  readonly #turn: Semaphore;
  readonly #places: Semaphore;
  readonly #rate: RateWindow | null;

  constructor(options: HostGateOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#turn = new Semaphore(1, { maxWaiting: options.maxWaiting });
    this.#places = new Semaphore(options.concurrency);
    this.#rate = options.ratePerSecond === null ? null : new RateWindow(options.ratePerSecond);
  }

  get waiting(): number {
    return this.#turn.waiting;
  }

  /** Resolves to what gives the place back. */
  async enter(priority: UpstreamPriority, signal: AbortSignal): Promise<() => void> {
    if (this.#turn.full) throw this.#busy();
    if (priority === 'task') return await this.#pass(priority, signal);
    return await this.#passInTime(signal);
  }

  async #passInTime(signal: AbortSignal): Promise<() => void> {
    const patience = linkAbort(signal);
    const passed = new AbortController();
    this.#clock.sleep(this.#options.maxInteractiveWaitMs, passed.signal).then(
      () => patience.abort(this.#busy()),
      () => undefined,
    );
    try {
      return await this.#pass('interactive', patience.signal);
    } finally {
      passed.abort();
      patience.release();
    }
  }

  async #pass(priority: UpstreamPriority, signal: AbortSignal): Promise<() => void> {
    const endTurn = await this.#turn.acquire(signal, PRIORITIES[priority]);
    try {
      const leave = await this.#places.acquire(signal, PRIORITIES[priority]);
      try {
        await this.#awaitMoment(signal);
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    } finally {
      endTurn();
    }
  }

  async #awaitMoment(signal: AbortSignal): Promise<void> {
    if (!this.#rate) return;
    for (let delay = this.#rate.delayAt(this.#clock.monotonic()); delay > 0; ) {
      await this.#clock.sleep(delay, signal);
      delay = this.#rate.delayAt(this.#clock.monotonic());
    }
    this.#rate.begin(this.#clock.monotonic());
  }

  #busy(): TilewardenError {
    const perSecond = this.#options.ratePerSecond ?? this.#options.concurrency;
    return new TilewardenError('source-busy', 'Too many requests are waiting for the map source.', {
      retryAfterSeconds: Math.min(60, Math.max(1, Math.ceil(this.waiting / perSecond))),
    });
  }
}
