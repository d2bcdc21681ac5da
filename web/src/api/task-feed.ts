import { useEffect, useState, useSyncExternalStore } from 'react';
import { type ApiResponse, get, problemFrom, SESSION_BEGUN } from './client.ts';

export type Task = ApiResponse<'GET /api/v1/tasks/{id}'>;
type Listener = (task: Task) => void;

/** From the worker with the stream to its pages. */
export type FeedMessage = { readonly live: boolean } | { readonly task: Task };

/** `polled`: the server responds, but there is no stream. Null: not requested yet. */
export type FeedState = 'live' | 'polled' | 'lost' | null;

const FLUSH_MS = 150;
const POLL_MS = 5000;

/** Changes of tasks for the whole page, from a stream that all tabs share; polled without one. */
class TaskFeed {
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  #port: MessagePort | null = null;
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
    addEventListener('pagehide', this.#leave);
    addEventListener('pageshow', this.#join);
    addEventListener(SESSION_BEGUN, this.#join);
    // Phones may have none.
    if (!('SharedWorker' in window)) return void this.#poll();
    const worker = new SharedWorker(new URL('./task-worker.ts', import.meta.url), { type: 'module' });
    worker.port.onmessage = ({ data }: MessageEvent<FeedMessage>) => this.#onEvent(data);
    worker.onerror = () => this.#onEvent({ live: false });
    this.#port = worker.port;
    this.#join();
  }

  #join = (): void => this.#port?.postMessage(new URL('api/v1/events', location.href.split('#')[0]).href);

  #leave = (): void => this.#port?.postMessage(null);

  #close(): void {
    this.#leave();
    this.#port?.close();
    this.#port = null;
    clearTimeout(this.#timer);
    removeEventListener('pagehide', this.#leave);
    removeEventListener('pageshow', this.#join);
    removeEventListener(SESSION_BEGUN, this.#join);
    this.#setState(null);
  }

  #onEvent(message: FeedMessage): void {
    if ('task' in message) {
      this.#tell(message.task);
      return;
    }
    clearTimeout(this.#timer);
    if (message.live) this.#setState('live');
    else void this.#poll();
  }

  async #poll(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const { tasks } = await get<ApiResponse<'GET /api/v1/tasks'>>('api/v1/tasks?limit=50');
      if (this.#state !== 'live') this.#setState('polled');
      for (const task of tasks) this.#tell(task);
    } catch (error) {
      const { status } = problemFrom(error);
      this.#setState(status === 0 || status >= 500 ? 'lost' : 'polled');
    }
    clearTimeout(this.#timer);
    if (this.#listeners.size > 0 && this.#state !== 'live')
      this.#timer = window.setTimeout(() => void this.#poll(), POLL_MS);
  }

  #tell(task: Task): void {
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

/** The newest version of each task that changed since the first call; changes in quick succession are shown together. */
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
