import { TilewardenError } from '../../domain/errors.ts';
import {
  HostClosed,
  type HostClosing,
  type HostOutage,
  type HostPause,
  type HostState,
  type UpstreamStatus,
} from '../../domain/upstream-status.ts';
import { Breaker, type BreakerClosing } from '../../lib/breaker.ts';
import type { Ledger } from '../../lib/budget.ts';
import { ifLate } from '../../lib/clock.ts';
import type { DailyHours } from '../../lib/daily-hours.ts';
import type { Env } from '../../lib/env.ts';
import type { Random } from '../../lib/random.ts';
import { linkAbort } from '../source-life.ts';
import type { ConcurrencyControl } from './concurrency-control.ts';
import { HostFigures } from './host-figures.ts';
import { budgetOf, type DailyBudget, placesOf, quietOf, rateOf } from './host-limits.ts';
import { HostShare, type HostShares } from './host-share.ts';
import type { RateTicket, RateWindow } from './rate-window.ts';
import { type Permit, type RequestEnd, type UpstreamPriority, WaitingLine } from './upstream-limiter.ts';
import type { UpstreamOptions } from './upstream-options.ts';

export interface HostLimiterOptions extends Env {
  readonly host: string;
  readonly limits: UpstreamOptions;
  /** Further requests are refused. */
  readonly maxWaiting: number;
  /** How long an interactive request waits for a place. Tasks wait until they are stopped. */
  readonly maxInteractiveWaitMs: number;
  readonly budgets: Ledger;
  /** Shares of the limits of all nodes; absent: the limits are this node's. */
  readonly shares?: HostShares;
  /** Reports to other nodes that the host fails or sent Retry-After; null: that it responds again. */
  readonly reportOutage?: (host: string, outage: HostOutage | null) => void;
  readonly random: Random;
}

interface Ticket {
  readonly priority: UpstreamPriority;
  readonly begunAt: number;
  readonly crowded: boolean;
  readonly probe: boolean;
  readonly rate: RateTicket | null;
  ended: boolean;
}

const PRIORITIES = ['interactive', 'task'] as const;

/**
 * Admits requests to one host: limited by concurrency, per second, per day and to certain hours, and none while it
 * fails or has sent `Retry-After`. Clients always go before tasks.
 */
export class HostLimiter {
  readonly #options: HostLimiterOptions;
  readonly #line = new WaitingLine();
  readonly #figures: HostFigures;
  #limits: UpstreamOptions;
  #places: ConcurrencyControl;
  readonly #breaker: Breaker;
  #rate: RateWindow | null = null;
  #quiet: DailyHours;
  #budget: DailyBudget | null = null;
  readonly #share: HostShare | null;
  #inFlight = 0;
  #urgentInFlight = 0;
  #pause: HostPause | null = null;
  /** Ends the sleep until the next request may begin, or until a pause is over. */
  #alarm = new AbortController();

  constructor(options: HostLimiterOptions) {
    this.#options = options;
    const { host, limits, clock, random, log } = options;
    this.#figures = new HostFigures(clock);
    this.#breaker = new Breaker(clock, random);
    this.#limits = limits;
    this.#places = placesOf(limits, clock);
    this.#quiet = quietOf(limits);
    this.#setFlow();
    this.#share = options.shares
      ? new HostShare({
          host,
          clock,
          log,
          shares: options.shares,
          limits: () => this.#limits,
          held: () => this.#inFlight,
          wanted: () => Math.min(this.#places.limit, this.#inFlight + this.#line.size),
          urgent: () => Math.min(this.#places.limit, this.#urgentInFlight + this.#line.count('interactive')),
          changed: () => this.#shareChanged(),
        })
      : null;
  }

  /** The configuration file was read again. Requests in flight and waiting stay, and count. */
  setLimits(limits: UpstreamOptions): void {
    this.#limits = limits;
    this.#places = placesOf(limits, this.#options.clock);
    this.#quiet = quietOf(limits);
    this.#setFlow();
    this.#shareChanged();
  }

  #setFlow(): void {
    const { host, budgets: ledger, clock, log } = this.#options;
    this.#rate = rateOf(this.#limits, this.#rate);
    this.#budget?.close().catch((err: unknown) => log.warn({ err }, 'a daily budget was not given back'));
    this.#budget = budgetOf(this.#limits, { host, ledger, clock, log, refilled: () => this.#serve() });
  }

  async acquire(priority: UpstreamPriority, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    const closing = this.#closedFor(priority);
    if (closing) throw this.#closed(closing);
    if (this.#line.count(priority) >= this.#options.maxWaiting) throw this.#busy();
    const link = linkAbort(signal);
    const joining = this.#line.join(priority, link.signal);
    this.#share?.want();
    this.#serve();
    const { clock, maxInteractiveWaitMs: most } = this.#options;
    const late = () => link.abort(this.#busy());
    const admitted = priority === 'interactive' ? ifLate(clock, most, late, () => joining) : joining;
    return await admitted.finally(() => link.release());
  }

  status(): UpstreamStatus {
    const { host } = this.#options;
    const { concurrency, ratePerSecond, dailyBudget, quietHours, timeZone } = this.#limits;
    const closed = this.#closedFor('task');
    const failures = this.#breaker.failures;
    return {
      host,
      limits: { concurrency, ratePerSecond, dailyBudget, quietHours, timeZone },
      inFlight: this.#inFlight,
      waiting: { interactive: this.#line.count('interactive'), task: this.#line.count('task') },
      concurrency: this.#places.limit,
      budget: this.#budget?.status ?? null,
      ...this.#figures.report(),
      state: this.#stateWhile(closed),
      failuresInARow: failures?.count ?? 0,
      failingSince: failures && this.#wallTime(failures.since),
      breaker: this.#breaker.state,
      retryAfter: closed?.reason === 'retry-after' ? closed.until : null,
      closed,
      pause: this.#pause,
    };
  }

  #stateWhile(closed: HostClosing | null): HostState {
    if (this.#pause) return 'paused';
    if (this.#breaker.probing) return 'probing';
    if (closed && closed.reason !== 'failing') return 'paused';
    return this.#breaker.failures || this.#breaker.failing ? 'failing' : 'healthy';
  }

  /** Wall time of a moment on the monotonic clock. */
  #wallTime(moment: number): number {
    const { clock } = this.#options;
    return Math.round(clock.now() + moment - clock.monotonic());
  }

  /** The state that another node reports; null: none. */
  applyOutage(outage: HostOutage | null): void {
    const before = this.#breaker.state;
    this.#breaker.applyOutage(outage);
    if (before !== this.#breaker.state) this.#serve();
  }

  /** An operator's pause; null: resumed. Requests in flight continue. */
  setPause(pause: HostPause | null): void {
    if (this.#pause?.at === pause?.at) return;
    this.#pause = pause;
    this.#serve();
  }

  /** Sends one request as a probe without waiting for the breaker. */
  tryNow(): void {
    this.#breaker.endPause();
    this.#serve();
  }

  async close(): Promise<void> {
    this.#alarm.abort();
    for (const priority of PRIORITIES) this.#line.refuseAll(priority, stoppingRefusal);
    await this.#share?.close();
    await this.#budget?.close();
  }

  get #limit(): number {
    return Math.min(this.#places.limit, this.#maxInFlight);
  }

  /** This node's share of `concurrency`, which holds for all nodes together. */
  get #maxInFlight(): number {
    return this.#share?.places ?? this.#limits.concurrency;
  }

  #shareChanged(): void {
    const { ratePerSecond, concurrency } = this.#limits;
    const share = this.#share?.places ?? 0;
    if (ratePerSecond !== null && share > 0) this.#rate?.setRate((ratePerSecond * share) / concurrency);
    this.#serve();
  }

  /** Admits the requests that may begin now, and schedules the next admission. */
  #serve(): void {
    this.#alarm.abort();
    for (const priority of PRIORITIES) this.#refuseIfClosed(priority);
    for (let next = this.#line.first(); next; next = this.#line.first()) {
      if (this.#inFlight >= this.#limit) return;
      const delay = this.#rate?.delayAt(this.#options.clock.monotonic()) ?? 0;
      if (delay > 0) {
        this.#wakeIn(delay);
        return;
      }
      // After a probe has begun, the host is closed to the requests behind it.
      const closing = this.#closedFor(next.priority);
      if (closing) {
        next.refuse(this.#closed(closing));
        continue;
      }
      if (this.#budget && !this.#budget.take()) {
        if (this.#budget.closedUntil() === null) return;
        continue;
      }
      next.admit(this.#begin(next.priority));
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

  #begin(priority: UpstreamPriority): Permit {
    const begunAt = this.#options.clock.monotonic();
    this.#inFlight++;
    if (priority === 'interactive') this.#urgentInFlight++;
    const ticket: Ticket = {
      priority,
      begunAt,
      crowded: this.#inFlight >= this.#limit,
      rate: this.#rate?.begin(begunAt) ?? null,
      probe: this.#breaker.begin(),
      ended: false,
    };
    this.#figures.begun();
    return { end: (how) => this.#end(ticket, how) };
  }

  #end(ticket: Ticket, end: RequestEnd): void {
    if (ticket.ended) return;
    ticket.ended = true;
    const before = this.#breaker.state;
    const outage = this.#breaker.outage;
    const now = this.#options.clock.monotonic();
    this.#inFlight--;
    if (ticket.priority === 'interactive') this.#urgentInFlight--;
    ticket.rate?.end(now);
    this.#figures.ended(end);
    this.#learn(ticket, end);
    const after = this.#breaker.state;
    if (before !== after) this.#logState(after);
    this.#reportOutage(outage, before !== 'closed' && after === 'closed');
    this.#serve();
    this.#share?.ended();
  }

  #reportOutage(before: HostOutage | null, isBack: boolean): void {
    const { host, reportOutage } = this.#options;
    const outage = this.#breaker.outage;
    if (isBack) reportOutage?.(host, null);
    if (outage && (!before || outage.taskMs > before.taskMs)) reportOutage?.(host, outage);
  }

  #learn({ begunAt, crowded, probe }: Ticket, { kind, ms, retryAfterMs, reason }: RequestEnd): void {
    if (kind === 'left') {
      this.#breaker.abandoned(probe);
      return;
    }
    if (kind === 'overloaded' || kind === 'failed') {
      this.#places.overloaded(begunAt);
      this.#breaker.failed(probe, { ms, retryAfterMs, reason });
      return;
    }
    if (probe) this.#places.restart();
    this.#breaker.succeeded(probe);
    if (kind === 'answered') this.#places.observe({ ms, begunAt, crowded });
  }

  #logState(state: UpstreamStatus['breaker']): void {
    const { log, host } = this.#options;
    log.info({ upstream: host, breaker: state, closed: this.#closedFor('task') }, 'upstream state changed');
  }

  #closedFor(priority: UpstreamPriority): HostClosing | null {
    const { clock } = this.#options;
    if (this.#pause) return { reason: 'paused', until: clock.now() + PAUSED_RETRY_MS };
    const broken = this.#breaker.closedFor(priority);
    if (broken) return closingOf(broken, (moment) => this.#wallTime(moment));
    const quietUntil =
      priority === 'task' || this.#limits.quietFor === 'all' ? this.#quiet.until(clock.now()) : null;
    if (quietUntil !== null) return { reason: 'quiet-hours', until: quietUntil };
    const budgetUntil = this.#budget?.closedUntil() ?? null;
    return budgetUntil === null ? null : { reason: 'daily-budget', until: budgetUntil };
  }

  #closed(closing: HostClosing): TilewardenError {
    this.#figures.refused();
    return closedRefusal(this.#options.host, closing, this.#options.clock.now());
  }

  #busy(): TilewardenError {
    this.#figures.refused();
    return busyRefusal(this.#line.size, this.#limits.ratePerSecond ?? this.#places.limit);
  }
}

/** `Retry-After` while an operator has paused the host: the end of the pause is not known. */
const PAUSED_RETRY_MS = 60_000;

/** `wallTime`: of a moment on the monotonic clock, in milliseconds since 1970. */
function closingOf(
  { reason, failure, since, until }: BreakerClosing,
  wallTime: (moment: number) => number,
): HostClosing {
  return {
    reason,
    until: wallTime(until),
    ...(failure !== null && { failure }),
    ...(since !== null && { since: wallTime(since) }),
  };
}

function closedRefusal(host: string, closing: HostClosing, now: number): TilewardenError {
  const { reason, until } = closing;
  const retryAfterSeconds = Math.max(1, Math.ceil((until - now) / 1000));
  return new TilewardenError('source-busy', closingText(reason), {
    reason,
    retryAfterSeconds,
    cause: new HostClosed(host, closing),
  });
}

function busyRefusal(waiting: number, perSecond: number): TilewardenError {
  return new TilewardenError('source-busy', 'Too many requests are waiting for the map source.', {
    retryAfterSeconds: Math.min(60, Math.max(1, Math.ceil(waiting / perSecond))),
  });
}

function stoppingRefusal(): TilewardenError {
  return new TilewardenError('source-unavailable', 'The server is stopping.', { reason: 'stopping' });
}

function closingText(reason: HostClosing['reason']): string {
  if (reason === 'failing') return 'The map source is failing; it is retried soon.';
  return reason === 'paused' ? 'An operator has paused the map source.' : 'The map source is paused.';
}
