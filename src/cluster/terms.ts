/** Leadership: in its term a node runs the quota, schedules and clean-up for all nodes. There is one at a time. */
import { openFileLock } from '../db/data-folder-lock.ts';
import type { Lead } from '../db/database.ts';
import type { Env } from '../lib/env.ts';
import { openRepeater } from '../lib/repeat.ts';

export interface TermOptions extends Env {
  /** Called when this node begins or ceases to lead. */
  readonly changed: (leads: boolean) => void;
}

export interface Leadership {
  readonly lead: Lead;
  close(): Promise<void>;
}

/** Milliseconds between attempts to lead. */
const ATTEMPT = 500;

/** Leadership among processes on one machine: the one that leads holds a file lock, which ends with the process. */
export function openLocalLeadership({
  file,
  ...options
}: TermOptions & { readonly file: string }): Leadership {
  const terms = createTerms(options);
  let lock: ReturnType<typeof openFileLock> = null;
  const tryToLead = () => {
    lock ??= openFileLock(file);
    if (lock && !terms.leads()) terms.begin();
  };
  tryToLead();
  const attempts = openRepeater(tryToLead, {
    ...options,
    pause: ATTEMPT,
    failure: 'the lock of the leading process cannot be tried',
  });
  return {
    lead: terms.lead,
    async close() {
      await attempts.close();
      terms.end();
      lock?.close();
    },
  };
}

/** Runs the work of `lead` in each term, the time from `begin` to `end` in which this node leads. */
export function createTerms({ changed, log }: TermOptions) {
  const listeners = new Set<(term: AbortSignal) => void>();
  let term: AbortController | null = null;
  const lead: Lead = (work) => {
    const ending = new AbortController();
    let running = Promise.resolve();
    const run = (signal: AbortSignal) => {
      running = running
        .then(() => work(AbortSignal.any([signal, ending.signal])))
        .catch((error: unknown) => log.error({ err: error }, 'a job of the leading node failed'));
    };
    listeners.add(run);
    if (term) run(term.signal);
    return {
      async close() {
        listeners.delete(run);
        ending.abort();
        await running;
      },
    };
  };
  return {
    lead,
    leads: () => term !== null,
    begin(): void {
      term = new AbortController();
      log.info({}, 'this node now runs the quota, schedules and clean-up for all nodes');
      changed(true);
      for (const begin of listeners) begin(term.signal);
    },
    end(): void {
      if (!term) return;
      term.abort();
      term = null;
      changed(false);
    },
  };
}
