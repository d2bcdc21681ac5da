import type { Clock } from './clock.ts';
import { jitter, type Random } from './random.ts';

/**
 * closed ─► open ─► half-open ─► closed
 *             ▲         │
 *             └─────────┘
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** Why a node pauses a host. Times are milliseconds from now; past ones are negative. */
export interface BreakerOutage {
  readonly reason: 'failing' | 'retry-after';
  /** How it fails, where it does. */
  readonly failure: string | null;
  readonly interactiveMs: number;
  readonly taskMs: number;
  /** How long every request has failed; null: too few have. */
  readonly failingMs: number | null;
}

export interface BreakerFailure {
  readonly ms: number;
  /** The host's `Retry-After`; null: none. */
  readonly retryAfterMs: number | null;
  /** E.g. `connection` or `status-503`. */
  readonly reason: string | null;
}

/** Failures in a row that open it; those that took long count twice, since each holds a place and a caller. */
const THRESHOLD = 5;
/** Milliseconds. Pauses double with each probe that fails. */
const FIRST_PAUSE = 500;
const MAX_PAUSE = 15_000;
/** Interactive requests probe sooner: two probes a second harm no host, and its return is noticed. */
const MAX_PAUSE_OF_PEOPLE = 500;
const FAST_FAILURE = 1000;
const SPREAD = 0.2;
/** Milliseconds until the next try while a probe is under way. */
const PROBE_RETRY_MS = 500;
/** Milliseconds. A node that had an answer within this time ignores the other nodes. */
const OWN_EVIDENCE_MS = 2000;
const MAX_RETRY_AFTER = 15 * 60_000;

interface BreakerOptions {
  /** Pauses continue to double when it opens again within this time. */
  readonly remembersMs?: number;
  readonly maxPauseMs?: number;
}

interface Pause {
  readonly interactive: number;
  readonly task: number;
  readonly reason: BreakerOutage['reason'];
  readonly failure: string | null;
  /** Reported by another node: since when the host fails, if that is known. */
  readonly reported?: { readonly since: number | null };
}

/** Until when a host is paused, on the monotonic clock, and why. */
export interface BreakerClosing {
  readonly until: number;
  readonly reason: BreakerOutage['reason'];
  readonly failure: string | null;
  /** When it began to fail, once it has failed often enough to be paused; on the monotonic clock. */
  readonly since: number | null;
}

/**
 * Pauses requests to a server that fails: a map server's host, or an object store.
 *
 *   closed     everything passes. Five failures in a row, three if they take long, or one
 *              that says when to come back: open.
 *   open       nothing passes until the pause is over, which is shorter for people than for tasks. Then: half-open.
 *   half-open  one request passes as a probe. It succeeds: closed. It fails: open, and the pause doubles.
 *              Its caller went away: still half-open, and the next request is the probe.
 */
export class Breaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: Random;
  readonly #options: Required<BreakerOptions>;
  #failures = 0;
  #inARow = 0;
  /** On the monotonic clock. */
  #failingSince: number | null = null;
  #pauses = 0;
  /** Times are on the monotonic clock. */
  #pause: Pause | null = null;
  #probing = false;
  /** When a probe closed it; null: it has opened again since, or never has. */
  #closedAt: number | null = null;
  #answeredAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic'>, random: Random, options: BreakerOptions = {}) {
    this.#clock = clock;
    this.#random = random;
    this.#options = { remembersMs: 0, maxPauseMs: MAX_PAUSE, ...options };
  }

  get state(): BreakerState {
    if (!this.#pause) return 'closed';
    return this.#clock.monotonic() < Math.min(this.#pause.interactive, this.#pause.task)
      ? 'open'
      : 'half-open';
  }

  get probing(): boolean {
    return this.#probing;
  }

  /** Since when, on the monotonic clock, and how often it has failed without a success; null: it has not. */
  get failures(): { readonly since: number; readonly count: number } | null {
    return this.#failingSince === null ? null : { since: this.#failingSince, count: this.#inARow };
  }

  /** It is open or half-open because the host fails, not because it sent Retry-After. */
  get failing(): boolean {
    return this.#pause?.reason === 'failing';
  }

  /** Null: requests may be sent now. */
  closedFor(priority: 'interactive' | 'task'): BreakerClosing | null {
    if (!this.#pause) return null;
    const now = this.#clock.monotonic();
    const { reason, failure } = this.#pause;
    const until = this.#probing ? now + PROBE_RETRY_MS : this.#pause[priority];
    const since = this.#failures >= THRESHOLD ? this.#failingSince : (this.#pause.reported?.since ?? null);
    return until > now ? { until, reason, failure, since } : null;
  }

  /** A request is sent; true: it is a probe. */
  begin(): boolean {
    if (!this.#pause || this.#probing) return false;
    this.#probing = true;
    return true;
  }

  /** For other nodes; null: this node has seen no failure itself. */
  get outage(): BreakerOutage | null {
    if (!this.#pause || this.#pause.reported) return null;
    const now = this.#clock.monotonic();
    const { interactive, task, reason, failure } = this.#pause;
    const failingMs =
      this.#failures >= THRESHOLD && this.#failingSince !== null ? now - this.#failingSince : null;
    return {
      reason,
      failure,
      interactiveMs: interactive - now,
      taskMs: task - now,
      failingMs,
    };
  }

  /** The state that another node reports; null: none. Failures that this node has seen itself take precedence. */
  applyOutage(outage: BreakerOutage | null): void {
    if (this.#probing || (this.#pause && !this.#pause.reported)) return;
    const now = this.#clock.monotonic();
    if (!outage || now - this.#answeredAt < OWN_EVIDENCE_MS) {
      this.#pause = null;
      return;
    }
    const { reason, failure, interactiveMs, taskMs, failingMs } = outage;
    const reported = { since: failingMs === null ? null : now - failingMs };
    this.#pause = { interactive: now + interactiveMs, task: now + taskMs, reason, failure, reported };
  }

  /** Ends the pause: the next request is the probe. */
  endPause(): void {
    const now = this.#clock.monotonic();
    if (this.#pause) this.#pause = { ...this.#pause, interactive: now, task: now };
  }

  succeeded(probe: boolean): void {
    this.#answeredAt = this.#clock.monotonic();
    this.#failures = 0;
    this.#inARow = 0;
    this.#failingSince = null;
    if (!probe) return;
    this.#probing = false;
    this.#pause = null;
    this.#closedAt = this.#answeredAt;
  }

  /** The request ended without a result. */
  abandoned(probe: boolean): void {
    if (probe) this.#probing = false;
  }

  /** Failures of requests that were in flight when it opened do not lengthen the pause. */
  failed(probe: boolean, failure: BreakerFailure): void {
    this.#failures += failure.ms < FAST_FAILURE ? 1 : 2;
    this.#inARow++;
    this.#failingSince ??= this.#clock.monotonic();
    if (probe) this.#probing = false;
    if (failure.retryAfterMs !== null) {
      this.#waitAsAsked(failure.retryAfterMs);
      return;
    }
    if (probe || (!this.#pause && this.#failures >= THRESHOLD)) this.open(failure.reason);
  }

  /** For faults that only the caller sees, e.g. slow successes. */
  open(failure: string | null = null): void {
    const now = this.#clock.monotonic();
    const { remembersMs, maxPauseMs } = this.#options;
    if (this.#closedAt !== null && now - this.#closedAt >= remembersMs) this.#pauses = 0;
    this.#closedAt = null;
    this.#pauses++;
    const pause = Math.min(maxPauseMs, FIRST_PAUSE * 2 ** (this.#pauses - 1));
    const spread = (length: number) => now + jitter(length, SPREAD, this.#random);
    this.#pause = {
      interactive: spread(Math.min(pause, MAX_PAUSE_OF_PEOPLE)),
      task: spread(pause),
      reason: 'failing',
      failure,
    };
  }

  #waitAsAsked(retryAfterMs: number): void {
    const until = this.#clock.monotonic() + Math.min(retryAfterMs, MAX_RETRY_AFTER);
    if (this.#pause?.reason === 'retry-after' && this.#pause.task >= until) return;
    this.#pause = { interactive: until, task: until, reason: 'retry-after', failure: null };
  }
}
