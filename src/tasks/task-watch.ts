import type { Database } from '../db/database.ts';
import { failureText, type HostClosedReason } from '../domain/upstream-status.ts';
import type { Clock } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { openRepeater, type Repeater } from '../lib/repeat.ts';
import { TASKS_CHANGED } from './store/task-rows.ts';
import type { TaskStore } from './store/task-store.ts';
import { isFinal, type Task, type TaskWait } from './task.ts';

/** Milliseconds for which a reported wait counts. Workers report a wait that lasts again every minute. */
const BELIEVED_FOR = 70_000;

export function waitText(wait: TaskWait): string {
  if ('message' in wait) return wait.message;
  if (wait.reason === 'paused') return `host ${wait.host} is paused by an operator`;
  const until = new Date(wait.until).toISOString();
  return `host ${wait.host} ${HOST_WAITS[wait.reason](wait.failure ?? null)} until ${until}`;
}

const HOST_WAITS: Readonly<Record<Exclude<HostClosedReason, 'paused'>, (failure: string | null) => string>> =
  {
    'quiet-hours': () => 'has quiet hours',
    'daily-budget': () => 'is paused, its daily budget is used up,',
    'retry-after': () => 'asked for a pause (Retry-After)',
    failing: (failure) => `is failing (${failureText(failure ?? 'unknown')}); paused`,
  };

/**
 * A change of a task. Ids rise, over restarts too. A listener that was disconnected passes the last id it saw, and gets
 * each task that has changed since, once, in its current state.
 */
export interface TaskEvent {
  readonly id: number;
  readonly task: Task;
}

type Listener = (event: TaskEvent) => void;

interface TaskWatchOptions extends Env {
  readonly database: Database;
  readonly store: TaskStore;
}

/** Milliseconds between polls: at most, without notifications; at least, with many of them. */
const POLL_INTERVAL_MS = 1000;
const MIN_INTERVAL = 100;
const BATCH = 200;

/** Follows the changes of tasks in all processes; notifies listeners and measures the rate. */
export class TaskWatch {
  readonly #options: TaskWatchOptions;
  readonly #meters = new Map<number, RateMeter>();
  readonly #listeners = new Set<Listener>();
  readonly #polling: Repeater;
  /** Changes at or above the horizon of the last poll that were reported already, by task: they will be seen again. */
  #reported = new Map<number, number>();
  #horizon: number;
  #turns: Promise<void> = Promise.resolve();

  constructor(options: TaskWatchOptions, horizon: number) {
    this.#options = options;
    this.#horizon = horizon;
    const failure = 'could not read changes of tasks';
    const listen = (wake: () => void) => options.database.listen(TASKS_CHANGED, wake);
    const polls = { ...options, pause: POLL_INTERVAL_MS, failure, listen };
    this.#polling = openRepeater((ended) => this.#pollInTurn(ended), polls);
  }

  withPace(task: Task): Task {
    if (isFinal(task.state) || task.state === 'paused') return { ...task, waitingFor: null };
    const pace = this.#meters.get(task.id)?.pace(task.tilesTotal - task.tilesProcessed);
    const wait = task.waitingFor;
    const now = this.#options.clock.now();
    const isOver = !wait || wait.until <= now || now - wait.notedAt >= BELIEVED_FOR;
    if (isOver) return { ...task, ...pace, waitingFor: null };
    return { ...task, ...pace, secondsRemaining: -1, reason: waitText(wait) };
  }

  tilesPerSecond(): number {
    return [...this.#meters.values()].reduce((sum, meter) => sum + meter.pace(0n).tilesPerSecond, 0);
  }

  /** Reports changes after `after`, then all later ones. A task that changes in between may be reported twice. */
  async subscribe(after: number | null, listener: Listener): Promise<() => void> {
    if (after !== null) await this.#inTurn(() => this.#catchUp(after, listener));
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#polling.close();
    this.#listeners.clear();
  }

  async #pollInTurn(ended: AbortSignal): Promise<void> {
    await this.#inTurn(() => this.#poll());
    await this.#options.clock.sleep(MIN_INTERVAL, ended).catch(() => {});
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turns.then(work);
    this.#turns = done.catch(() => {});
    return done;
  }

  async #catchUp(after: number, listener: Listener): Promise<void> {
    const horizon = await this.#options.store.changeHorizon();
    for await (const [task, id] of this.#changesAfter(after, horizon)) {
      listener({ id, task: this.withPace(task) });
    }
  }

  async #poll(): Promise<void> {
    const horizon = await this.#options.store.changeHorizon();
    for await (const [task, id] of this.#changesAfter(this.#horizon - 1, horizon)) {
      if (this.#reported.get(task.id) === task.eventId) continue;
      this.#reported.set(task.id, task.eventId);
      this.#measure(task);
      for (const listener of this.#listeners) listener({ id, task: this.withPace(task) });
    }
    this.#horizon = horizon;
    for (const [id, event] of this.#reported) if (event < horizon) this.#reported.delete(id);
  }

  /** Changed tasks, each with the id from which a listener resumes: all below the next change has been reported. */
  async *#changesAfter(after: number, horizon: number): AsyncGenerator<readonly [Task, number]> {
    let place = { event: after, id: Number.MAX_SAFE_INTEGER };
    for (;;) {
      const changed = await this.#options.store.changedSince(place, BATCH);
      for (const [index, task] of changed.entries()) {
        const next = changed[index + 1]?.eventId ?? (changed.length < BATCH ? horizon : task.eventId);
        yield [task, Math.max(after, Math.min(next, horizon) - 1)];
      }
      const last = changed.at(-1);
      if (!last || changed.length < BATCH) return;
      place = { event: last.eventId, id: last.id };
    }
  }

  #measure(task: Task): void {
    const { id, state, tilesProcessed } = task;
    if (state !== 'running') this.#meters.delete(id);
    else
      getOrCreate(this.#meters, id, () => new RateMeter(this.#options.clock, tilesProcessed)).observe(
        tilesProcessed,
      );
  }
}

interface Pace {
  readonly tilesPerSecond: number;
  /** −1 while unknown. */
  readonly secondsRemaining: number;
}

/** Milliseconds after which an observation has lost two thirds of its weight. */
const MEMORY = 30_000;
/** Observations closer together than this measure the reports rather than the work. */
const MIN_INTERVAL_MS = 200;
/** Milliseconds without a tile after which its end cannot be estimated. */
const STANDSTILL = 30_000;
const STANDING: Pace = { tilesPerSecond: 0, secondsRemaining: -1 };

/** The smoothed rate of a task, as observed. Durations come from the monotonic clock. */
export class RateMeter {
  readonly #clock: Clock;
  #processed: bigint;
  #at: number;
  #movedAt: number;
  #rate = 0;
  /** Rises to 1: how much of `#rate` rests on observations. */
  #trust = 0;

  constructor(clock: Clock, processed: bigint) {
    this.#clock = clock;
    this.#processed = processed;
    this.#at = clock.monotonic();
    this.#movedAt = this.#at;
  }

  observe(processed: bigint): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#at;
    if (elapsed < MIN_INTERVAL_MS) return;
    const share = 1 - Math.exp(-elapsed / MEMORY);
    const tiles = Math.max(0, Number(processed - this.#processed));
    this.#rate += share * ((tiles / elapsed) * 1000 - this.#rate);
    this.#trust += share * (1 - this.#trust);
    if (processed !== this.#processed) this.#movedAt = now;
    this.#processed = processed;
    this.#at = now;
  }

  pace(remaining: bigint): Pace {
    if (this.#trust === 0 || this.#clock.monotonic() - this.#movedAt > STANDSTILL) return STANDING;
    const tilesPerSecond = this.#rate / this.#trust;
    if (tilesPerSecond === 0) return STANDING;
    const seconds = Math.ceil(Number(remaining) / tilesPerSecond);
    return { tilesPerSecond, secondsRemaining: Math.min(Math.max(0, seconds), Number.MAX_SAFE_INTEGER) };
  }
}
