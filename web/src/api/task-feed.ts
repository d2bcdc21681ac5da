import { useEffect, useState, useSyncExternalStore } from 'react';
import { type ApiResponse, get, problemFrom, SESSION_BEGUN } from './client.ts';

export type Task = ApiResponse<'GET /api/v1/tasks/{id}'>;
type Listener = (task: Task) => void;

/** `polled`: the server responds, but without a stream. Null: no response yet. */
export type FeedState = 'live' | 'polled' | 'lost' | null;

const FLUSH_MS = 150;
const POLL_MS = 5000;

/**
 * Changes of tasks for the whole page, from one stream of events, or by polling while that fails. The stream is open only
 * while the page is visible: browsers allow six connections to a host, and each tab would hold one.
 */
class TaskFeed {
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  #stream: EventSource | null = null;
  #lastId = '';
  #timer = 0;
  #state: FeedState = null;

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  }

  watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  state = (): FeedState => this.#state;

  #open(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    addEventListener(SESSION_BEGUN, this.#connect);
    this.#connect();
  }

  #close(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    removeEventListener(SESSION_BEGUN, this.#connect);
    this.#disconnect();
    this.#setState(null);
  }

  #onVisibility = (): void => {
    this.#connect();
    if (!document.hidden) void this.#fetchLatest();
  };

  #disconnect(): void {
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#stream = null;
  }

  /** Opens a stream that continues after the last event. */
  #connect = (): void => {
    this.#disconnect();
    if (document.hidden) return;
    const stream = new EventSource(
      `api/v1/events${this.#lastId === '' ? '' : `?lastEventId=${this.#lastId}`}`,
    );
    stream.onopen = () => {
      clearTimeout(this.#timer);
      this.#setState('live');
    };
    stream.addEventListener('task', ({ data, lastEventId }) => {
      this.#lastId = lastEventId;
      this.#notify(JSON.parse(String(data)));
    });
    stream.onerror = () => {
      if (this.#state === 'live') this.#setState(null);
      void this.#poll(stream);
    };
    this.#stream = stream;
  };

  async #poll(stream: EventSource): Promise<void> {
    clearTimeout(this.#timer);
    const state = await this.#fetchLatest();
    if (this.#stream !== stream || this.#state === 'live') return;
    this.#setState(state);
    // The browser reconnects a stream by itself, unless the server has refused it.
    const isRefused = stream.readyState === EventSource.CLOSED;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => (isRefused ? this.#connect() : void this.#poll(stream)), POLL_MS);
  }

  async #fetchLatest(): Promise<FeedState> {
    try {
      const { tasks } = await get<ApiResponse<'GET /api/v1/tasks'>>('api/v1/tasks?limit=50');
      for (const task of tasks) this.#notify(task);
      return 'polled';
    } catch (error) {
      const { status } = problemFrom(error);
      return status === 0 || status >= 500 ? 'lost' : 'polled';
    }
  }

  #notify(task: Task): void {
    for (const listener of this.#listeners) listener(task);
  }

  #setState(state: FeedState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const watcher of this.#watchers) watcher();
  }
}

export const taskFeed = new TaskFeed();

export function useFeedState(): FeedState {
  return useSyncExternalStore(taskFeed.watch, taskFeed.state);
}

/** The newest version of each task that has changed since the first call; quick successions are shown together. */
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
