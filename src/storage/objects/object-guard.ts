import { Agent } from 'undici';
import { TilewardenError } from '../../domain/errors.ts';
import { Breaker } from '../../lib/breaker.ts';
import type { Clock } from '../../lib/clock.ts';
import { Counters } from '../../lib/counters.ts';
import type { Env } from '../../lib/env.ts';
import type { Logger } from '../../lib/logger.ts';
import { jitter, type Random } from '../../lib/random.ts';
import { Semaphore } from '../../lib/semaphore.ts';

export interface GuardTools extends Env {
  readonly random: Random;
  /** Skips `check`: the first request then shows whether the bucket exists. */
  readonly unchecked?: boolean;
}

interface GuardOptions {
  /** For messages, e.g. `bucket tiles`. */
  readonly what: string;
  readonly connections: number;
  readonly timeoutSeconds: number;
  /** The HTTP status of an error; null if there was no response, or a repetition may succeed. */
  readonly statusOf: (error: unknown) => number | null;
}

/** Attempts of a request, and milliseconds before the second one; the pauses double. */
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 100;
/** The share by which these pauses vary randomly. */
const SPREAD = 0.5;
/** Priority of reads in the queue, because clients wait for them. */
const READ_FIRST = 1;
/** Share of its time limit after which a read counts as slow, and is ended if another request needs its connection. */
const SLOW_SHARE = 0.2;
const READ_WINDOW_MS = 10_000;
/** The breaker opens at this many failed or slow reads in a window, if they are this share of all. */
const [MIN_BAD, BAD_SHARE] = [10, 0.5];
/** The breaker's longest pause, in milliseconds. */
const MAX_PAUSE_MS = 10_000;
/** A failure for the breaker: a fast one, without Retry-After or reason. */
const FAILURE = { ms: 0, retryAfterMs: null, reason: null };

/** Errors of `check` by status. */
const REFUSALS: ReadonlyMap<number | null, string> = new Map([
  [404, 'does not exist; create it, or name another one'],
  [401, 'may not be used with these credentials'],
  [403, 'may not be used with these credentials'],
]);

interface RequestState {
  readonly operation: string;
  /** Whether it is the request that the breaker allows after a pause: its success closes the breaker. */
  probe: boolean;
}

/** The error of a slow read that was ended to give its connection to another request. */
class GaveWay extends Error {}

/** Sends the requests of object stores: with limited connections, deadlines, a breaker, counts, and `store-failed`. */
export class ObjectGuard {
  readonly #options: GuardOptions;
  readonly #unchecked: boolean;
  readonly #breaker: Breaker;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Logger;
  /** Requests wait here for a connection, because the HTTP client would count that wait as part of the request. */
  readonly #turns: Semaphore;
  /** Milliseconds. */
  readonly #slowAfter: number;
  readonly counters = new Counters();
  #reported = false;
  /** Counts of all reads, and of failed or slow ones, in the current window. */
  #reads = { since: 0, all: 0, bad: 0 };

  constructor(options: GuardOptions, { clock, random, log, unchecked = false }: GuardTools) {
    this.#options = options;
    this.#unchecked = unchecked;
    this.#slowAfter = options.timeoutSeconds * 1000 * SLOW_SHARE;
    this.#breaker = new Breaker(clock, random, { remembersMs: READ_WINDOW_MS, maxPauseMs: MAX_PAUSE_MS });
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#turns = new Semaphore(options.connections);
  }

  /** `bytesOf`: bytes of objects that were sent or received. The deadline of a read includes its wait for a connection. */
  async send<Result>(
    operation: string,
    send: (signal: AbortSignal) => Promise<Result>,
    bytesOf: (result: Result) => number = () => 0,
  ): Promise<Result> {
    const isRead = operation === 'get';
    if (this.#breaker.closedFor('task')) throw paused();
    const deadline = isRead ? this.#limit(1) : undefined;
    const release = await this.#turns.acquire(deadline, isRead ? READ_FIRST : 0).catch((cause: unknown) => {
      throw failed('has had no free connection in time', cause);
    });
    try {
      const result = await this.#sendTracked(operation, isRead, (request) => {
        const sendAs = (signal: AbortSignal) => this.#repeat(request, send, signal);
        return deadline ? this.#givingWay(deadline, sendAs) : sendAs(this.#limit(ATTEMPTS));
      });
      this.#count(operation, { bytes: bytesOf(result) });
      return result;
    } finally {
      release();
    }
  }

  /** Throws `config-invalid` for a missing or forbidden bucket. An unreachable one is only logged: it may return. */
  async check(request: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const { what, statusOf } = this.#options;
    if (this.#unchecked) return;
    try {
      await this.#repeat({ operation: 'head-bucket', probe: true }, request, this.#limit(ATTEMPTS));
    } catch (cause) {
      const why = REFUSALS.get(statusOf(cause));
      if (why) throw new TilewardenError('config-invalid', `The ${what} of a tile store ${why}.`, { cause });
      const text = 'the object store cannot be reached; tiles are not stored until it can';
      this.#log.warn({ store: what, err: cause }, text);
    }
  }

  /** Returns whether the request is the breaker's probe. */
  #begin(): boolean {
    if (this.#breaker.closedFor('task')) throw paused();
    return this.#breaker.begin();
  }

  async #sendTracked<Result>(
    operation: string,
    isRead: boolean,
    send: (request: RequestState) => Promise<Result>,
  ): Promise<Result> {
    const request = { operation, probe: this.#begin() };
    const begun = this.#clock.monotonic();
    try {
      const result = await send(request);
      this.#breaker.succeeded(request.probe);
      if (request.probe) this.#clearReads();
      this.#judge(isRead, this.#clock.monotonic() - begun > this.#slowAfter);
      return result;
    } catch (cause) {
      this.#count(operation, { failures: 1 });
      if (request.probe || !(cause instanceof GaveWay)) this.#breaker.failed(request.probe, FAILURE);
      this.#judge(isRead, true, cause);
      throw failed('failed', cause);
    }
  }

  /**
   * Repeats a failed request, but not while the breaker is open: the response to an earlier request would make a store
   * look healthy that still refuses all others.
   */
  async #repeat<Result>(
    request: RequestState,
    send: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      if (!request.probe) request.probe = this.#begin();
      this.#count(request.operation, { requests: 1 });
      try {
        return await send(signal);
      } catch (error) {
        if (attempt === ATTEMPTS || signal.aborted || !this.#mayRepeat(error)) throw error;
      }
      await this.#clock.sleep(jitter(FIRST_PAUSE_MS * 2 ** (attempt - 1), SPREAD, this.#random), signal);
    }
  }

  /** Whether a repetition may succeed: not after 4xx, except 408 (RFC 9110, 15.5.9) and 429 (RFC 6585, 4). */
  #mayRepeat(error: unknown): boolean {
    const status = this.#options.statusOf(error);
    return status === null || status === 408 || status === 429 || status >= 500;
  }

  #judge(isRead: boolean, isBad: boolean, cause?: unknown): void {
    if (isRead && this.#isFailing(isBad) && this.#breaker.state === 'closed') this.#breaker.open();
    this.#report(cause);
  }

  /** Counts a read, and returns whether too many failed or were slow: right responses may come too slowly to be useful. */
  #isFailing(isBad: boolean): boolean {
    if (this.#clock.monotonic() - this.#reads.since > READ_WINDOW_MS) this.#clearReads();
    const { all, bad } = this.#reads;
    this.#reads = { ...this.#reads, all: all + 1, bad: bad + Number(isBad) };
    return isBad && bad + 1 >= MIN_BAD && bad + 1 >= BAD_SHARE * (all + 1);
  }

  #clearReads(): void {
    this.#reads = { since: this.#clock.monotonic(), all: 0, bad: 0 };
  }

  /** Ends a slow read if other requests wait: hanging reads would otherwise hold all connections. */
  async #givingWay<Result>(
    deadline: AbortSignal,
    send: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const late = new AbortController();
    const giveWay = () => this.#turns.waiting > 0 && late.abort();
    const timer = setInterval(giveWay, this.#slowAfter);
    try {
      return await send(AbortSignal.any([deadline, late.signal]));
    } catch (error) {
      throw late.signal.aborted ? new GaveWay('others waited for its connection', { cause: error }) : error;
    } finally {
      clearInterval(timer);
    }
  }

  #report(err?: unknown): void {
    const open = this.#breaker.state !== 'closed';
    if (open === this.#reported) return;
    this.#reported = open;
    const about = { store: this.#options.what };
    if (!open) {
      this.#log.info(about, 'the object store responds again');
      return;
    }
    const text =
      'the object store fails or is slow; tiles that no cache has are made by their sources and not stored';
    this.#log.warn({ ...about, err }, text);
  }

  #limit(attempts: number): AbortSignal {
    return AbortSignal.timeout(this.#options.timeoutSeconds * 1000 * attempts);
  }

  #count(operation: string, { requests = 0, failures = 0, bytes = 0 }): void {
    this.counters.count('store_requests_total', { operation }, requests);
    this.counters.count('store_request_failures_total', { operation }, failures);
    this.counters.count('store_request_bytes_total', { operation }, bytes);
  }
}

function paused(): TilewardenError {
  return failed('is paused for a moment after several failures');
}

function failed(how: string, cause?: unknown): TilewardenError {
  return new TilewardenError('store-failed', `The object store ${how}.`, { cause });
}

/**
 * The HTTP client of object stores, instead of Node's, which the SDKs would use: that shares code with Node's HTTP server,
 * and a process that has used both serves every tile a tenth slower, because the code is then compiled for both.
 */
export function createObjectAgent(options: {
  readonly connections: number;
  readonly timeoutSeconds: number;
}): Agent {
  const timeout = options.timeoutSeconds * 1000;
  return new Agent({
    connections: options.connections,
    connect: { timeout },
    headersTimeout: timeout,
    bodyTimeout: timeout,
  });
}
