import { type Clock, systemClock } from '../lib/clock.ts';
import type { Terminal } from './command.ts';
import { INTERRUPTED, openInterruption } from './process-setup.ts';
import { isOver, outcomeOf, progressBar, progressFacts, type TaskDocument } from './progress-bar.ts';
import {
  readResponse,
  type ServerClient,
  ServerRefusal,
  ServerUnreachable,
  TOO_MANY_REQUESTS,
} from './server-client.ts';

interface FollowOptions {
  readonly client: ServerClient;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Every change as a line of JSON. */
  readonly json: boolean;
  /** Ends the watching; the task goes on. */
  readonly signal: AbortSignal;
}

/** Milliseconds. */
const POLL_INTERVAL_MS = 400;
const LINE_INTERVAL = 5000;
/** How long a server may be away before we stop waiting for it. */
const RECONNECT_TIMEOUT_MS = 10 * 60_000;
const CLEAR_LINE = '\r\x1b[K';
const SERVER_FAILED = 500;

/** Shows a task's progress until it is over. Resolves with the exit code: 0 only if it is done. */
export async function followTask(first: TaskDocument, options: FollowOptions): Promise<number> {
  const show = createShow(options);
  const { client, clock, signal } = options;
  let task = first;
  show.progress(task);
  while (!isOver(task)) {
    await clock.sleep(POLL_INTERVAL_MS, signal).catch(() => {});
    if (signal.aborted) return show.left(task);
    task = (await readAgain(task.id)) ?? task;
    if (signal.aborted) return show.left(task);
    show.progress(task);
  }
  show.end(task);
  return task.state === 'done' ? 0 : 1;

  async function readAgain(id: number): Promise<TaskDocument | null> {
    const deadline = clock.monotonic() + RECONNECT_TIMEOUT_MS;
    while (!signal.aborted) {
      try {
        return readResponse<TaskDocument>(await client.get(`/api/v1/tasks/${id}`, signal), 'tilesTotal');
      } catch (error) {
        if (signal.aborted) return null;
        if (!isPassing(error) || clock.monotonic() > deadline) throw error;
        show.away();
        await clock.sleep(POLL_INTERVAL_MS, signal).catch(() => {});
      }
    }
    return null;
  }
}

/** A server that restarts continues its tasks; the command waits for it. */
function isPassing(error: unknown): boolean {
  if (error instanceof ServerUnreachable) return true;
  return (
    error instanceof ServerRefusal && (error.status === TOO_MANY_REQUESTS || error.status >= SERVER_FAILED)
  );
}

function createShow({ terminal, json, clock, client }: FollowOptions) {
  const columns = json ? null : (terminal.columns ?? null);
  let last = '';
  let lastAt = Number.NEGATIVE_INFINITY;
  let isAway = false;

  const clear = () => (columns === null ? undefined : terminal.err(CLEAR_LINE));

  function print(text: string, force: boolean): void {
    const due = force || clock.monotonic() - lastAt >= (json ? 0 : LINE_INTERVAL);
    if (text === last || !due) return;
    last = text;
    lastAt = clock.monotonic();
    terminal.out(`${text}\n`);
  }

  return {
    progress(task: TaskDocument) {
      isAway = false;
      if (columns !== null) return terminal.err(`${CLEAR_LINE}${progressBar(task, columns)}`);
      if (json) return print(JSON.stringify(task), true);
      if (!isOver(task)) print(`Task ${task.id}: ${progressFacts(task)}`, false);
    },
    away(): void {
      if (isAway) return;
      isAway = true;
      clear();
      terminal.err(
        `The server at ${client.server} does not answer now; still trying. Tasks survive its restart.\n`,
      );
    },
    end(task: TaskDocument): void {
      clear();
      if (!json) print(outcomeOf(task), true);
    },
    left({ id }: TaskDocument): number {
      clear();
      terminal.err(
        `Task ${id} continues on the server.\n  Watch it again:  tilewarden tasks watch ${id}\n  Stop it:         tilewarden tasks stop ${id}\n`,
      );
      return INTERRUPTED;
    },
  };
}

/** Shows a task's progress until it is over or Ctrl-C ends the watching. Resolves with the exit code. */
export async function watchTask(
  task: TaskDocument,
  client: ServerClient,
  terminal: Terminal,
  json: boolean,
): Promise<number> {
  const interruption = openInterruption();
  try {
    return await followTask(task, {
      client,
      terminal,
      clock: systemClock,
      json,
      signal: interruption.signal,
    });
  } finally {
    interruption.close();
  }
}
