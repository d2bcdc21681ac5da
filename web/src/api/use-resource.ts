import { useCallback, useEffect, useState } from 'react';
import { get, type Problem, problemFrom } from './client.ts';

export interface Resource<T> {
  readonly data: T | null;
  readonly problem: Problem | null;
  /** Asks again now. */
  reload(): void;
}

/** Seconds between tries after a failure. */
const RETRY_SECONDS = 5;

/**
 * What the server has at a path; null asks for nothing. It is asked again every `everySeconds` while the page is seen,
 * and after a failure. What was there stays while something newer is on its way.
 */
export function useResource<T>(path: string | null, everySeconds: number | null = null): Resource<T> {
  const [state, setState] = useState<{ path: string | null; data: T | null; problem: Problem | null }>({
    path,
    data: null,
    problem: null,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a turn is a wish to ask again
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let timer = 0;
    const again = (seconds: number) => {
      timer = window.setTimeout(() => (document.hidden ? again(seconds) : load()), seconds * 1000);
    };
    const load = () => {
      get<T>(path, stop.signal).then(
        (data) => {
          setState({ path, data, problem: null });
          if (everySeconds !== null) again(everySeconds);
        },
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const problem = problemFrom(error);
          setState((before) => ({ path, data: before.path === path ? before.data : null, problem }));
          if (problem.status === 0 || problem.status >= 500) again(RETRY_SECONDS);
        },
      );
    };
    load();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, everySeconds, turn]);

  const current = state.path === path;
  return { data: current ? state.data : null, problem: current ? state.problem : null, reload };
}
