import type { Database } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { RateMeter } from './rate-meter.ts';
import { TASKS_CHANGED } from './store/task-rows.ts';
import type { TaskStore } from './store/task-store.ts';
import type { Task, TaskWait } from './task.ts';
import type { TaskEvent } from './task-service.ts';
import { isFinal } from './task-state.ts';
import { TaskWaits, waitText } from './task-waits.ts';

interface Listener {
  cursor: number;
  readonly tell: (event: TaskEvent) => void;
}

export interface TaskWatchOptions {
  readonly database: Database;
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Milliseconds between looks when nobody tells of a change, and at least, however many do. */
const LOOK_INTERVAL = 1000;
const SHORTEST_INTERVAL = 100;
const BATCH = 200;

/** Sees every change of a task, in whatever process it happened; tells listeners and knows the pace. */
export class TaskWatch {
  readonly #options: TaskWatchOptions;
  readonly #meters = new Map<number, RateMeter>();
  readonly #waits: TaskWaits;
  readonly #listeners = new Set<Listener>();
  readonly #ending = new AbortController();
  readonly #stopListening: () => void;
  readonly #looping: Promise<void>;
  #seen: number;
  #nudge = new AbortController();

  constructor(options: TaskWatchOptions, latestEventId: number) {
    this.#options = options;
    this.#seen = latestEventId;
    this.#waits = new TaskWaits(options.clock);
    this.#stopListening = options.database.listen(TASKS_CHANGED, () => this.#nudge.abort());
    this.#looping = this.#loop();
  }

  /** The task with its pace and what it waits for, as far as that has been seen. */
  withPace(task: Task): Task {
    if (isFinal(task.state) || task.state === 'paused') return task;
    const pace = this.#meters.get(task.id)?.pace(task.tilesTotal - task.tilesProcessed);
    const wait = this.#waits.get(task.id);
    if (!wait) return { ...task, ...pace };
    return { ...task, ...pace, secondsRemaining: -1, waitingFor: wait, reason: waitText(wait) };
  }

  /** All or some of the task's threads wait. */
  noteWait(id: number, wait: TaskWait): void {
    this.#waits.note(id, wait);
  }

  /** Of all tasks that run. */
  tilesPerSecond(): number {
    return [...this.#meters.values()].reduce((sum, meter) => sum + meter.pace(0n).tilesPerSecond, 0);
  }

  async subscribe(after: number | null, tell: (event: TaskEvent) => void): Promise<() => void> {
    const listener: Listener = { cursor: after ?? this.#seen, tell };
    while (listener.cursor < this.#seen) {
      const changed = await this.#options.store.changedSince(listener.cursor, BATCH);
      for (const task of changed) this.#tell(listener, task);
      if (changed.length === 0) listener.cursor = this.#seen;
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#nudge.abort();
    this.#stopListening();
    await this.#looping;
    this.#listeners.clear();
  }

  async #loop(): Promise<void> {
    const { clock, log } = this.#options;
    const ended = this.#ending.signal;
    while (!ended.aborted) {
      this.#nudge = new AbortController();
      await this.#look().catch((error: unknown) => {
        if (!ended.aborted) log.warn({ err: error }, 'looking for changes of tasks failed');
      });
      await clock.sleep(SHORTEST_INTERVAL, ended).catch(() => {});
      await clock.sleep(LOOK_INTERVAL, this.#nudge.signal).catch(() => {});
    }
  }

  async #look(): Promise<void> {
    for (;;) {
      const changed = await this.#options.store.changedSince(this.#seen, BATCH);
      for (const task of changed) {
        this.#seen = task.eventId;
        this.#measure(task);
        for (const listener of this.#listeners) this.#tell(listener, task);
      }
      if (changed.length < BATCH) return;
    }
  }

  #measure(task: Task): void {
    if (task.state !== 'running') this.#meters.delete(task.id);
    if (isFinal(task.state) || task.state !== 'running') return;
    const meter = this.#meters.get(task.id);
    if (meter) meter.observe(task.tilesProcessed);
    else this.#meters.set(task.id, new RateMeter(this.#options.clock, task.tilesProcessed));
  }

  #tell(listener: Listener, task: Task): void {
    if (task.eventId <= listener.cursor) return;
    listener.cursor = task.eventId;
    listener.tell({ id: task.eventId, task: this.withPace(task) });
  }
}
