import { type AreaCover, countCovered } from '../domain/area-cover.ts';
import { isTilewardenError, messageWithStatus } from '../domain/errors.ts';
import type { TileRangeLevel } from '../domain/grid-subset.ts';
import { tileSetId } from '../domain/tile-key.ts';
import { HostClosed } from '../domain/upstream-status.ts';
import type { Env } from '../lib/env.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { RateLimitedWarning } from '../pipeline/rate-limited-warning.ts';
import type { ResolvedTileSet, TilePipeline } from '../pipeline/tile-pipeline.ts';
import type { Exporter } from './exporter.ts';
import { LeaseTally, type StepOutcome, type TallySnapshot } from './lease-tally.ts';
import { performStep, type StepContext } from './perform-step.ts';
import type { ExportFigures, FailureReason, HostAway, Lease, Report, ReportResponse } from './store/lease.ts';
import type { LeaseStore } from './store/lease-store.ts';
import type { TaskWait } from './task.ts';
import { coverOf, stepsOf } from './task-plan.ts';

export interface LeaseRunOptions extends Env {
  readonly leases: LeaseStore;
  readonly pipeline: TilePipeline;
  /** Null: this worker has no tasks of type `export`. */
  readonly exporter: Exporter | null;
  /** Resolves when no other process shows tiles from memory that this one has replaced. */
  readonly announceStored: () => Promise<void>;
  /** By the current declaration of the layer. Throws when the tiles of the lease are no longer available. */
  readonly tilesOf: (lease: Lease) => ResolvedTileSet;
  /** Whether this worker has no thread left for other tasks. */
  readonly crowded: () => boolean;
  /** Tasks that this worker skips for now. */
  readonly resting: () => readonly number[];
  /** Called when the lease is handed back because its host is unavailable. */
  readonly hostClosed: (taskId: number, closed: HostClosed) => void;
  /** Fails a task that cannot continue: its layer or tile set is gone, or an export has failed. */
  readonly failTask: (id: number, reason: string) => Promise<void>;
  /** Shared by all leases: without a database, or on a full disk, each would warn twice a second. */
  readonly warn: RateLimitedWarning;
}

/** Milliseconds between reports: a crash repeats the work since the last one, and another task waits so long. */
const REPORT_INTERVAL = 1000;
/** The first report comes sooner, so that a short task's progress is seen. */
const FIRST_REPORT = 250;
/** Milliseconds between attempts to reach the database, and when to stop: the lease will go to another worker. */
const DATABASE_PAUSE = 500;
const DATABASE_TIMEOUT_MS = 60_000;

/** Steps of a lease with an answer that is being cut or stored. Each holds a metatile in memory. */
const STEPS_BEHIND = 3;

interface Work {
  readonly step: TileRangeLevel;
  readonly end: (outcome: StepOutcome) => void;
}

/** Performs the steps of one lease, and reports its progress. */
export class LeaseRun {
  readonly lease: Lease;
  readonly #options: LeaseRunOptions;
  readonly #cover: AreaCover | null;
  readonly #tally: LeaseTally;
  readonly #work: Iterator<Work>;
  readonly #threads: Semaphore;
  readonly #abort = new AbortController();
  #handingBack = false;
  #hostAway: HostAway | null = null;
  #wait: TaskWait | null = null;
  #figures: ExportFigures | null = null;
  /** No step is left for another holder. */
  #exhausted = false;
  #beat = 0;
  #lastReport: number;
  #reporting: Promise<void> = Promise.resolve();

  /** Throws as `tilesOf`. */
  constructor(lease: Lease, options: LeaseRunOptions) {
    this.lease = lease;
    this.#options = options;
    options.tilesOf(lease);
    this.#cover = coverOf(lease.plan, lease.request);
    this.#tally = new LeaseTally(lease.kind === 'piece' ? lease.doneSteps : 0);
    this.#threads = new Semaphore(lease.threads);
    this.#work = this.#workOf(lease);
    this.#lastReport = options.clock.monotonic();
  }

  /** Starts no further steps; those in flight are finished and reported, the rest is handed back. */
  handBack(): void {
    this.#handingBack = true;
  }

  /** Reports now: a lease that has ended is aborted. */
  check(): void {
    this.#report('go-on').catch((error: Error) => this.abort(error));
  }

  /** Cancels steps in flight, upstream requests included. */
  abort(reason: Error): void {
    this.#handingBack = true;
    this.#exhausted = false;
    this.#abort.abort(reason);
  }

  /** Resolves when no part of it is running; does not reject for a failed step. */
  async run(): Promise<void> {
    const lanes = Array.from({ length: this.#stepsAtOnce() }, () => this.#lane());
    const ended = new AbortController();
    const reports = this.#reportRegularly(ended.signal);
    for (const part of [...lanes, reports]) part.catch((error: Error) => this.abort(error));
    await Promise.allSettled(lanes);
    ended.abort();
    await Promise.all([...lanes, reports]);
    await this.#report(this.#exhausted ? 'finish' : 'hand-back');
  }

  /** More than threads: while some steps wait for the upstream, others are cut and stored. */
  #stepsAtOnce(): number {
    const { threads, request } = this.lease;
    const counted = !request.waitsForHosts || (this.lease.kind === 'piece' && this.lease.careful);
    const alone = request.type === 'truncate' || counted;
    return alone ? threads : threads + STEPS_BEHIND;
  }

  async #lane(): Promise<void> {
    while (!this.#handingBack) {
      const next = this.#work.next();
      if (next.done) {
        this.#exhausted = true;
        return;
      }
      const outcome = await this.#perform(next.value.step);
      if (outcome instanceof HostClosed) {
        this.#rest(outcome);
        return;
      }
      if (this.#abort.signal.aborted && !outcome.ok) return;
      if (!outcome.ok && this.lease.request.type === 'export') {
        await this.#options.failTask(this.lease.taskId, outcome.reason);
        this.handBack();
        return;
      }
      next.value.end(outcome);
      if (this.#isCounted(outcome)) await this.#report('go-on');
    }
  }

  /** Before the next step: a worker has died here, or the request limits the number of failures. */
  #isCounted({ ok }: StepOutcome): boolean {
    if (!ok && !this.lease.request.waitsForHosts) return true;
    return this.lease.kind === 'piece' && this.lease.careful;
  }

  /** The step has not failed: the next holder of the lease performs it. */
  #rest(closed: HostClosed): void {
    const { host, closing } = closed;
    this.#exhausted = false;
    const { failure = closing.reason, since } = closing;
    if (since !== undefined) this.#hostAway = { host, failure, since };
    this.handBack();
    this.#options.hostClosed(this.lease.taskId, closed);
    this.#wait = { host, ...closing };
  }

  async #perform(step: TileRangeLevel): Promise<StepOutcome | HostClosed> {
    try {
      return { ok: true, counts: await this.#performAsDeclared(step) };
    } catch (error) {
      if (error instanceof HostClosed) return error;
      const tiles = countCovered(this.#cover, step.z, step.rect);
      return { ok: false, tiles, ...this.#failureOf(error) };
    }
  }

  /** Tiles made for a former declaration do not belong to the new one. */
  async #performAsDeclared(step: TileRangeLevel) {
    for (;;) {
      const tiles = this.#options.tilesOf(this.lease);
      const counts = await performStep(step, this.#contextWith(tiles));
      if (tileSetId(this.#options.tilesOf(this.lease).set) === tileSetId(tiles.set)) return counts;
    }
  }

  #contextWith(tiles: ResolvedTileSet): StepContext {
    return {
      ...this.#options,
      tiles,
      lease: this.lease,
      cover: this.#cover,
      threads: this.#threads,
      signal: this.#abort.signal,
      waits: (wait) => {
        this.#wait = wait;
      },
      onProgress: (figures) => {
        this.#figures = figures;
      },
      sent: () => this.#tally.requestSent(),
    };
  }

  #failureOf(error: unknown): FailureReason {
    if (isTilewardenError(error)) return { reason: messageWithStatus(error), upstream: error.upstream };
    if (!this.#abort.signal.aborted) {
      this.#options.log.error(
        { err: error, task: this.lease.taskId },
        'a step of a task failed unexpectedly',
      );
    }
    return { reason: 'an unexpected failure; see the log of the server', upstream: null };
  }

  *#workOf(lease: Lease): Generator<Work> {
    if (lease.kind === 'piece') {
      for (const step of stepsOf(lease.plan, lease.piece, lease.doneSteps)) {
        yield { step, end: (outcome) => this.#tally.stepEnded(step.index, step, outcome) };
      }
      return;
    }
    for (const step of lease.steps) {
      yield { step, end: (outcome) => this.#tally.retryEnded(step.id, step.tiles, outcome) };
    }
  }

  async #reportRegularly(ended: AbortSignal): Promise<void> {
    for (let wait = FIRST_REPORT; !ended.aborted; wait = this.#untilNextReport()) {
      await this.#options.clock.sleep(wait, ended).catch(() => {});
      if (!ended.aborted) await this.#report('go-on');
    }
  }

  /** All leases of a worker report at the same moments, and thus together. */
  #untilNextReport(): number {
    return REPORT_INTERVAL - (this.#options.clock.monotonic() % REPORT_INTERVAL);
  }

  /** One at a time, in order. */
  #report(intent: Report['intent']): Promise<void> {
    this.#reporting = this.#reporting.then(() => this.#reportNow(intent));
    return this.#reporting;
  }

  async #reportNow(intent: Report['intent']): Promise<void> {
    if (this.#abort.signal.aborted && intent === 'go-on') return;
    const answer = await this.#send(this.#reportOf(this.#tally.take(), intent));
    if (answer === 'over') this.abort(new Error('The lease has ended.'));
    if (answer === 'hand-back') this.handBack();
  }

  #reportOf({ doneSteps, counts, failures, retried }: TallySnapshot, intent: Report['intent']): Report {
    const now = this.#options.clock.monotonic();
    const workMs = Math.max(0, now - this.#lastReport);
    this.#lastReport = now;
    const wait = this.#wait;
    this.#wait = null;
    return {
      token: this.lease.token,
      beat: this.#beat++,
      workMs,
      intent,
      wait,
      figures: this.#figures,
      doneSteps,
      counts,
      failures,
      retried,
      crowded: this.#options.crowded(),
      resting: this.#options.resting(),
      hostAway: intent === 'hand-back' ? this.#hostAway : null,
    };
  }

  /** A short outage of the database costs no work; a long one costs the lease. */
  async #send(report: Report): Promise<ReportResponse> {
    const { announceStored, clock, leases, warn } = this.#options;
    const deadline = clock.monotonic() + DATABASE_TIMEOUT_MS;
    for (;;) {
      try {
        await announceStored();
        return await leases.report(report);
      } catch (error) {
        warn(error, 'reports of tasks could not be recorded');
        if (clock.monotonic() > deadline) return 'over';
        await clock.sleep(DATABASE_PAUSE);
      }
    }
  }
}
