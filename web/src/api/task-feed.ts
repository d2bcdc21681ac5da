import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Answer } from './client.ts';

export type Task = Answer<'/api/v1/tasks/{id}'>;
type Listener = (task: Task) => void;

const FLUSH_MS = 150;

/** Milliseconds before a stream that the server refused is asked for again. */
const REOPEN_MS = 3000;

/** One stream of changes for the whole page, open while anybody listens. */
class TaskFeed {
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  #source: EventSource | null = null;
  #timer = 0;
  /** What a stream that was refused goes on from. */
  #lastId = '';
  #live: boolean | null = null;

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (!this.#source) this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  }

  watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  /** Null: nobody has asked yet. */
  live = (): boolean | null => this.#live;

  #open(): void {
    const after = this.#lastId === '' ? '' : `?lastEventId=${this.#lastId}`;
    const source = new EventSource(`api/v1/events${after}`);
    this.#source = source;
    source.onopen = () => this.#setLive(true);
    source.addEventListener('task', ({ data, lastEventId }) => {
      this.#lastId = lastEventId;
      const task = JSON.parse(String(data)) as Task;
      for (const listener of this.#listeners) listener(task);
    });
    source.onerror = () => {
      this.#setLive(false);
      // The browser tries again by itself unless it was refused.
      if (source.readyState !== EventSource.CLOSED) return;
      this.#timer = window.setTimeout(() => this.#open(), REOPEN_MS);
    };
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#setLive(null);
  }

  #setLive(live: boolean | null): void {
    if (this.#live === live) return;
    this.#live = live;
    for (const watcher of this.#watchers) watcher();
  }
}

export const taskFeed = new TaskFeed();

/** Whether changes arrive as they happen; null while nobody knows. */
export function useLive(): boolean | null {
  return useSyncExternalStore(taskFeed.watch, taskFeed.live);
}

/** Changes of tasks since this was first called, newest version of each; what comes in a crowd is shown together. */
export function useTaskChanges(): ReadonlyMap<number, Task> {
  const [tasks, setTasks] = useState<ReadonlyMap<number, Task>>(new Map());
  useEffect(() => {
    let waiting: Task[] = [];
    let timer = 0;
    const flush = () => {
      timer = 0;
      const arrived = waiting;
      waiting = [];
      setTasks((before) => new Map([...before, ...arrived.map((task) => [task.id, task] as const)]));
    };
    const end = taskFeed.listen((task) => {
      waiting.push(task);
      timer ||= window.setTimeout(flush, FLUSH_MS);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, []);
  return tasks;
}
