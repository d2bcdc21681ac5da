import type { Env } from './env.ts';

interface RepeatOptions extends Env {
  /** Milliseconds between the end of one turn and the next. */
  readonly pause: number | (() => number);
  /** Logged when a turn fails before the end; at level `debug` for a minute afterwards, unless a turn has succeeded. */
  readonly failure: string;
  /** Level of the log; `warn` when absent. */
  readonly level?: 'debug' | 'error';
  /** The first turn comes after a pause too. */
  readonly pauseFirst?: true;
}

/** A full disk or a database that is away fails every turn. */
const QUIET_MS = 60_000;

/** Repeats `work` until the signal aborts. */
export async function repeat(
  work: () => unknown,
  { clock, log, pause, failure, level, pauseFirst }: RepeatOptions,
  signal: AbortSignal,
): Promise<void> {
  const sleep = () => clock.sleep(typeof pause === 'number' ? pause : pause(), signal).catch(() => {});
  let quietUntil = Number.NEGATIVE_INFINITY;
  if (pauseFirst) await sleep();
  while (!signal.aborted) {
    try {
      await work();
      quietUntil = Number.NEGATIVE_INFINITY;
    } catch (error) {
      const now = clock.monotonic();
      if (!signal.aborted) log[now < quietUntil ? 'debug' : (level ?? 'warn')]({ err: error }, failure);
      if (now >= quietUntil) quietUntil = now + QUIET_MS;
    }
    await sleep();
  }
}

export type Repeater = ReturnType<typeof openRepeater>;

interface RepeaterOptions extends RepeatOptions {
  /** Subscribes to a reason to end a pause; returns a function that unsubscribes. */
  readonly listen?: (wake: () => void) => () => void;
}

/** The same until it is closed, which aborts the signal. `wake` ends a pause, or the one that follows the turn under way. */
export function openRepeater(
  work: (signal: AbortSignal, woken: AbortSignal) => unknown,
  options: RepeaterOptions,
) {
  const ending = new AbortController();
  let nudge = new AbortController();
  const clock = { ...options.clock, sleep: (ms: number) => options.clock.sleep(ms, nudge.signal) };
  const turn = () => {
    nudge = new AbortController();
    return work(ending.signal, nudge.signal);
  };
  const running = repeat(turn, { ...options, clock }, ending.signal);
  const wake = () => nudge.abort();
  const stopListening = options.listen?.(wake);
  return {
    wake,
    /** Resolves when the turn under way has ended. */
    async close(): Promise<void> {
      stopListening?.();
      ending.abort();
      nudge.abort();
      await running;
    },
  };
}
