import { useCallback, useState } from 'react';
import { type Problem, problemFrom } from './client.ts';

export interface Action {
  readonly busy: boolean;
  readonly problem: Problem | null;
  /** The message after success. */
  readonly done: string | null;
  /** Shows the result of `work` if it is a text. Never rejects; resolves to whether it worked. */
  run(work: () => Promise<unknown>): Promise<boolean>;
}

/** The state and result of a request started by a click. */
export function useAction(): Action {
  const [state, setState] = useState<Omit<Action, 'run'>>({ busy: false, problem: null, done: null });
  const run = useCallback(async (work: () => Promise<unknown>) => {
    setState({ busy: true, problem: null, done: null });
    try {
      const result = await work();
      setState({ busy: false, problem: null, done: typeof result === 'string' ? result : null });
      return true;
    } catch (error) {
      setState({ busy: false, problem: problemFrom(error), done: null });
      return false;
    }
  }, []);
  return { ...state, run };
}
