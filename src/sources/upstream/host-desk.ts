import { TilewardenError } from '../../domain/errors.ts';
import { HostClosed } from '../../domain/host-closed.ts';
import type { HostClosing, UpstreamStatus } from '../../domain/upstream-status.ts';
import type { Clock } from '../../lib/clock.ts';
import { DailyHours } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import { Breaker } from './breaker.ts';
import { ConcurrencyControl } from './concurrency-control.ts';
import { type BudgetBook, DailyBudget } from './daily-budget.ts';
import { HostFigures } from './host-figures.ts';
import { linkAbort } from './linked-abort.ts';
import { type RateTicket, RateWindow } from './rate-window.ts';
import type { Permit, RequestEnd, UpstreamPriority } from './upstream-desk.ts';
import type { UpstreamOptions } from './upstream-options.ts';
import { WaitingLine } from './waiting-line.ts';

export interface HostDeskOptions {
  readonly host: string;
  readonly limits: UpstreamOptions;
  /** More than this many waiting requests are turned away. */
  readonly maxWaiting: number;
  /** How long a person is kept waiting for a place. Tasks wait until they are stopped. */
  readonly maxInteractiveWaitMs: number;
  readonly book: BudgetBook;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface Ticket {
  readonly begunAt: number;
  readonly crowded: boolean;
  readonly probe: boolean;
  readonly rate: RateTicket | null;
}

const PRIORITIES = ['interactive', 'task'] as const;

/**
 * Lets requests to one host begin: so many at once, so many a second, so many a day, at the hours that suit it,
 * and none while it fails or has asked for patience. People go before tasks, always.
 */
export class HostDesk {
  readonly #options: HostDeskOptions;
  readonly #line = new WaitingLine();
  readonly #figures: HostFigures;
  readonly #places: ConcurrencyControl;
  readonly #breaker: Breaker;
  readonly #rate: RateWindow | null;
  readonly #quiet: DailyHours;
  readonly #budget: DailyBudget | null;
  #inFlight = 0;
  /** What wakes us when the next request may begin, or when a closing is over. */
  #alarm = new AbortController();

  constructor(options: HostDeskOptions) {
    this.#options = options;
    const { host, limits, clock, random, book, log } = options;
    const time = new LocalTime(limits.timeZone);
    this.#figures = new HostFigures(clock);
    this.#places = new ConcurrencyControl({ max: limits.concurrency, adaptive: limits.adaptive, clock });
    this.#breaker = new Breaker(clock, random);
    this.#rate = limits.ratePerSecond === null ? null : new RateWindow(limits.ratePerSecond);
    this.#quiet = new DailyHours(limits.quietHours, time);
    const budget = { host, time, book, clock, log, refilled: () => this.#serve() };
    this.#budget =
      limits.dailyBudget === null ? null : new DailyBudget({ ...budget, limit: limits.dailyBudget });
  }

  async enter(priority: UpstreamPriority, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    const closing = this.#closedFor(priority);
    if (closing) throw this.#closed(closing);
    if (this.#line.count(priority) >= this.#options.maxWaiting) throw this.#busy();
    const patience = linkAbort(signal);
    const waited = new AbortController();
    const entering = this.#line.join(priority, patience.signal);
    this.#serve();
    if (priority === 'interactive') this.#limitPatience(waited.signal, (error) => patience.abort(error));
    try {
      return await entering;
    } finally {
      waited.abort();
      patience.release();
    }
  }

  status(): UpstreamStatus {
    const { host, limits } = this.#options;
    const { concurrency, ratePerSecond, dailyBudget, quietHours, timeZone } = limits;
    const closed = this.#closedFor('task');
    return {
      host,
      limits: { concurrency, ratePerSecond, dailyBudget, quietHours, timeZone },
      inFlight: this.#inFlight,
      waiting: { interactive: this.#line.count('interactive'), task: this.#line.count('task') },
      concurrency: this.#places.limit,
      budget: this.#budget?.status ?? null,
      ...this.#figures.report(),
      breaker: this.#breaker.state,
      retryAfter: closed?.reason === 'retry-after' ? closed.until : null,
      closed,
    };
  }

  async close(): Promise<void> {
    this.#alarm.abort();
    for (const priority of PRIORITIES) this.#line.refuseAll(priority, stopping);
    await this.#budget?.close();
  }

  #limitPatience(waited: AbortSignal, giveUp: (error: unknown) => void): void {
    this.#options.clock.sleep(this.#options.maxInteractiveWaitMs, waited).then(
      () => giveUp(this.#busy()),
      () => undefined,
    );
  }

  /** Lets in whoever may begin now, and sees to it that the next is let in in time. */
  #serve(): void {
    this.#alarm.abort();
    for (const priority of PRIORITIES) this.#refuseIfClosed(priority);
    for (let next = this.#line.first(); next; next = this.#line.first()) {
      if (this.#inFlight >= this.#places.limit) return;
      const delay = this.#rate?.delayAt(this.#options.clock.monotonic()) ?? 0;
      if (delay > 0) {
        this.#wakeIn(delay);
        return;
      }
      // A probe takes the only place; those behind it are told so.
      const closing = this.#closedFor(next.priority);
      if (closing) {
        next.refuse(this.#closed(closing));
        continue;
      }
      if (this.#budget && !this.#budget.take()) {
        if (this.#budget.closedUntil() === null) return;
        continue;
      }
      next.admit(this.#begin());
    }
  }

  #refuseIfClosed(priority: UpstreamPriority): void {
    if (this.#line.count(priority) === 0) return;
    const closing = this.#closedFor(priority);
    if (closing) this.#line.refuseAll(priority, () => this.#closed(closing));
  }

  #wakeIn(delay: number): void {
    this.#alarm = new AbortController();
    this.#options.clock.sleep(Math.ceil(delay), this.#alarm.signal).then(
      () => this.#serve(),
      () => undefined,
    );
  }

  #begin(): Permit {
    const begunAt = this.#options.clock.monotonic();
    this.#inFlight++;
    const crowded = this.#inFlight >= this.#places.limit;
    const rate = this.#rate?.begin(begunAt) ?? null;
    const ticket: Ticket = { begunAt, crowded, rate, probe: this.#breaker.begin() };
    this.#figures.begun();
    let ended = false;
    return {
      end: (end) => {
        if (ended) return;
        ended = true;
        this.#end(ticket, end);
      },
    };
  }

  #end(ticket: Ticket, end: RequestEnd): void {
    const before = this.#breaker.state;
    this.#inFlight--;
    ticket.rate?.end(this.#options.clock.monotonic());
    this.#figures.ended(end);
    this.#learn(ticket, end);
    const after = this.#breaker.state;
    if (before !== after) this.#tell(after);
    this.#serve();
  }

  #learn({ begunAt, crowded, probe }: Ticket, { kind, ms, retryAfterMs }: RequestEnd): void {
    if (kind === 'left') {
      this.#breaker.abandoned(probe);
      return;
    }
    if (kind === 'overloaded' || kind === 'failed') {
      this.#places.overloaded(begunAt);
      this.#breaker.failed(probe, { ms, retryAfterMs });
      return;
    }
    this.#breaker.succeeded(probe);
    if (probe) this.#places.restart();
    if (kind === 'answered') this.#places.observe({ ms, begunAt, crowded });
  }

  #tell(state: UpstreamStatus['breaker']): void {
    const { log, host } = this.#options;
    log.info({ upstream: host, breaker: state, closed: this.#closedFor('task') }, 'a host has changed');
  }

  #closedFor(priority: UpstreamPriority): HostClosing | null {
    const { clock, limits } = this.#options;
    const now = clock.now();
    const broken = this.#breaker.closedFor(priority);
    if (broken) return { reason: broken.reason, until: now + broken.until - clock.monotonic() };
    const quietUntil = priority === 'task' || limits.quietFor === 'all' ? this.#quiet.until(now) : null;
    if (quietUntil !== null) return { reason: 'quiet-hours', until: quietUntil };
    const budgetUntil = this.#budget?.closedUntil() ?? null;
    return budgetUntil === null ? null : { reason: 'daily-budget', until: budgetUntil };
  }

  #closed(closing: HostClosing): TilewardenError {
    this.#figures.refused();
    const retryAfterSeconds = Math.max(1, Math.ceil((closing.until - this.#options.clock.now()) / 1000));
    const cause = new HostClosed(this.#options.host, closing);
    const details = { reason: closing.reason, retryAfterSeconds, cause };
    if (closing.reason === 'failing') {
      return new TilewardenError(
        'source-unavailable',
        'The map source is failing; it is asked again soon.',
        details,
      );
    }
    return new TilewardenError('source-busy', 'The map source is not asked now.', details);
  }

  #busy(): TilewardenError {
    this.#figures.refused();
    const perSecond = this.#options.limits.ratePerSecond ?? this.#places.limit;
    return new TilewardenError('source-busy', 'Too many requests are waiting for the map source.', {
      retryAfterSeconds: Math.min(60, Math.max(1, Math.ceil(this.#line.size / perSecond))),
    });
  }
}

function stopping(): TilewardenError {
  return new TilewardenError('source-unavailable', 'The server is stopping.', { reason: 'stopping' });
}
