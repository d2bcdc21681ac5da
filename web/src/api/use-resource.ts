import { useCallback, useEffect, useState } from 'react';
import { ask, type Problem, problemFrom, SESSION_BEGUN, type Versioned } from './client.ts';

export interface Resource<T> {
  readonly data: T | null;
  /** As the server names it; null where it does not. */
  readonly version: string | null;
  readonly problem: Problem | null;
  reload(): void;
  /** Shows what the server has answered to a change, until it is asked again. */
  replace(answer: Versioned<T>): void;
}

/** Seconds between tries after a failure. */
const RETRY_SECONDS = 5;
/** Milliseconds until a question that depends on what is typed is asked. */
const TYPING_MS = 250;

/**
 * What the server has at a path; null asks for nothing. It is asked again every `everySeconds` while the page is seen,
 * after a failure, and after a new sign-in. The old data stays until the new data arrives.
 * With `question`, that is sent, and the answer is what is wanted.
 */
export function useResource<T>(
  path: string | null,
  everySeconds: number | null = null,
  question?: object,
  method: 'POST' | 'PUT' = 'POST',
): Resource<T> {
  const body = question && JSON.stringify(question);
  const key = `${path} ${body}`;
  const [state, setState] = useState({
    key,
    data: null as T | null,
    version: null as string | null,
    problem: null as Problem | null,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  const replace = (answer: Versioned<T>) => {
    setState({ key, ...answer, problem: null });
    reload();
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a turn is a wish to ask again
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    const { signal } = stop;
    let timer = 0;
    const again = (seconds: number) => {
      timer = window.setTimeout(() => (document.hidden ? again(seconds) : load()), seconds * 1000);
    };
    const load = () => {
      const asked =
        body === undefined
          ? ask<T>('GET', path, undefined, { signal })
          : ask<T>(method, path, JSON.parse(body), { signal });
      asked.then(
        (answer) => {
          setState({ key, ...answer, problem: null });
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
