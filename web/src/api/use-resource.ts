import { useCallback, useEffect, useState } from 'react';
import { TEXTS } from '../texts.ts';
import { forgetInput } from '../unsaved.ts';
import {
  type ApiRequest,
  type ApiResponse,
  fetchJson,
  Problem,
  problemFrom,
  SESSION_BEGUN,
  type Versioned,
} from './client.ts';
import { useFeedState } from './task-feed.ts';

type PathOf<Request> = Request extends `GET ${infer Path}` ? Path : never;

export interface Resource<T> {
  readonly data: T | null;
  /** The server's version of the content; null if it has none. */
  readonly version: string | null;
  readonly problem: Problem | null;
  reload(): void;
  /** Shows the response to a change until the next load. */
  replace(response: Versioned<T>): void;
}

/** Seconds between attempts after a failure. */
const RETRY_SECONDS = 5;
/** Milliseconds without typing before a request with the typed content. */
const TYPING_MS = 250;

/** The response to `GET` of a path without parameters, typed by the table of routes. */
export function useApi<Path extends PathOf<ApiRequest>>(path: Path, everySeconds: number | null = null) {
  return useResource<ApiResponse<`GET ${Path}`>>(path.slice(1), everySeconds);
}

/**
 * The response to `GET` of a path, or to a request with `content`; a null path sends nothing. It is requested again every
 * `everySeconds` while the page is visible, after a failure, and after a new sign-in. Until then the old data is shown.
 */
export function useResource<T>(
  path: string | null,
  everySeconds: number | null = null,
  content?: object,
  method: 'POST' | 'PUT' = 'POST',
): Resource<T> {
  const body = content && JSON.stringify(content);
  const key = `${path} ${body}`;
  const [state, setState] = useState({
    key,
    data: null as T | null,
    version: null as string | null,
    problem: null as Problem | null,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  const replace = (response: Versioned<T>) => {
    setState({ key, ...response, problem: null });
    reload();
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a turn loads again
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    const { signal } = stop;
    let timer = 0;
    const again = (seconds: number) => {
      timer = window.setTimeout(() => (document.hidden ? again(seconds) : load()), seconds * 1000);
    };
    const load = () => {
      const sent = body === undefined ? undefined : JSON.parse(body);
      fetchJson<T>(sent === undefined ? 'GET' : method, path, sent, { signal }).then(
        (response) => {
          setState({ key, ...response, problem: null });
          if (everySeconds !== null) again(everySeconds);
        },
        (error: unknown) => {
          if (signal.aborted) return;
          const problem = problemFrom(error);
          setState((before) =>
            before.key === key ? { ...before, problem } : { key, data: null, version: null, problem },
          );
          if (problem.status === 0 || problem.status >= 500) again(RETRY_SECONDS);
        },
      );
    };
    if (body === undefined) load();
    else timer = window.setTimeout(load, TYPING_MS);
    addEventListener(SESSION_BEGUN, load, { signal });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, everySeconds, turn]);

  const { data, version, problem } = state.key === key ? state : { data: null, version: null, problem: null };
  return { data, version, problem, reload, replace };
}

/** HTTP status for a change of another version than the current one. */
const CHANGED = 412;

/** For `catch` of a save: shows the version that another user saved before. */
export function reloadChanged(reload: () => void) {
  return (error: unknown): never => {
    const { status, requestId } = problemFrom(error);
    if (status !== CHANGED) throw error;
    reload();
    throw new Problem(TEXTS.errors.changed, status, requestId);
  };
}

/** The latest value that was stable for a moment, for requests while a user types or drags. */
export function useRested<T>(value: T): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}

export interface Action {
  readonly busy: boolean;
  readonly problem: Problem | null;
  /** The message after success. */
  readonly done: string | null;
  /** Runs `work`, whose result is shown if it is a text. Never rejects; resolves to whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
  /** Shows no result of the last work: its input has changed. */
  forget(): void;
}

const NO_RESULT = { busy: false, problem: null, done: null };

/** The state and result of a request that a click starts. */
export function useAction(): Action {
  const [state, setState] = useState<Omit<Action, 'run' | 'forget'>>(NO_RESULT);
  const feed = useFeedState();
  // The server can be reached again.
  useEffect(() => {
    if (feed === 'live' || feed === 'polled')
      setState((now) => (now.problem?.status === 0 ? NO_RESULT : now));
  }, [feed]);
  const forget = useCallback(() => setState((now) => (now.busy ? now : NO_RESULT)), []);
  const run = useCallback(async (work: () => Promise<unknown>) => {
    setState({ ...NO_RESULT, busy: true });
    try {
      const result = await work();
      // A form that stays on the page has been saved.
      if (typeof result === 'string') forgetInput();
      setState({ busy: false, problem: null, done: typeof result === 'string' ? result : null });
      return true;
    } catch (error) {
      setState({ busy: false, problem: problemFrom(error), done: null });
      return false;
    }
  }, []);
  return { ...state, run, forget };
}
