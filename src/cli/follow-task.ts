import type { ApiResponse } from '../app.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { Terminal } from './command.ts';
import { bar, countText, durationText, plural, sizeText, withLocalTimes } from './format.ts';
import { INTERRUPTED, openInterruption } from './process-setup.ts';
import { isPassing, readResponse, type ServerClient } from './server-client.ts';

interface FollowOptions {
  readonly client: ServerClient;
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Every change as a line of JSON. */
  readonly json: boolean;
  /** Stops watching; the task continues. */
  readonly signal: AbortSignal;
}

/** Milliseconds. */
const POLL_INTERVAL_MS = 400;
const LINE_INTERVAL = 5000;
/** Longest wait for an unreachable server. */
const RECONNECT_TIMEOUT_MS = 10 * 60_000;
const CLEAR_LINE = '\r\x1b[K';

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
      if (!json) print(outcomeText(task), true);
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

const MAX_BAR = 30;
const MIN_BAR = 8;

/** One line for a terminal of this width, e.g. `seed world ███░░░  43 %  2,340 of 5,461 tiles · 310/s · 10 s left`. */
export function progressBar(task: TaskDocument, columns: number): string {
  const share = task.tilesTotal === 0 ? 1 : Math.min(1, task.tilesProcessed / task.tilesTotal);
  const facts = `${String(Math.floor(share * 100)).padStart(3)} %  ${progressFacts(task)}`;
  const title = `${task.type} ${task.layer} `;
  // One column stays free: some terminals wrap when the last one is written.
  const room = columns - 1 - facts.length - title.length - 1;
  if (room < MIN_BAR) return facts.trimStart().slice(0, columns - 1);
  const width = Math.min(room, MAX_BAR);
  return `${title}${bar(Math.floor(share * width), width)} ${facts}`;
}

/** `2,340 of 5,461 tiles · 310/s · 10 s left · 3 failed` */
export function progressFacts(task: TaskDocument): string {
  const { type, tilesPerSecond, secondsRemaining, counters, state } = task;
  const facts = [
    progressCount(task),
    withLocalTimes(state === 'running' ? (task.reason ?? '') : waiting(task)),
    tilesPerSecond > 0 && type !== 'truncate' ? `${countText(tilesPerSecond)}/s` : '',
    state === 'running' && secondsRemaining >= 0 ? `${durationText(secondsRemaining)} left` : '',
    counters.failed > 0 ? `${countText(counters.failed)} failed` : '',
  ];
  return facts.filter((fact) => fact !== '').join(' · ');
}

export function outcomeText(task: TaskDocument): string {
  const { id, type, layer, counters, errors } = task;
  const lines = [`Task ${id}, ${type} ${layer}, ${endingOf(task)}`, `  ${countersOf(task)}${took(task)}`];
  if (counters.failed === 0) return lines.join('\n');
  return [...lines, ...failureLines(errors), `  Retry the failed tiles: tilewarden tasks retry ${id}`].join(
    '\n',
  );
}

/** The latest failures, each with the map server's own words and the address of the request. */
export function failureLines(errors: TaskDocument['errors']): readonly string[] {
  return errors.slice(-3).flatMap(({ z, x, y, message, upstream }) => {
    const { text = null, address = null } = upstream ?? {};
    return [
      `  failed at ${z}/${x}/${y}: ${message}`,
      ...(text === null ? [] : [`    the map server answered: ${text}`]),
      ...(address === null ? [] : [`    ${address}`]),
    ];
  });
}

function endingOf({ state, outcome, reason }: TaskDocument): string {
  if (state === 'done') return 'is done';
  const why = withLocalTimes(reason ?? 'reason unknown');
  if (outcome === 'stopped') return why.startsWith('stopped ') ? `was ${why}` : `was stopped: ${why}`;
  return outcome === 'partial' ? `ended with failures: ${why}` : `failed: ${why}`;
}

const ENDINGS = { ok: 'done', partial: 'partly failed', failed: 'failed', stopped: 'stopped' } as const;

/** In the words of the console. */
export function stateText({ state, outcome }: TaskDocument): string {
  return outcome ? ENDINGS[outcome] : state;
}

/** A truncation counts existing tiles only: missing ones are no work. */
function progressCount({ type, counters, tilesProcessed, tilesTotal }: TaskDocument): string {
  if (type === 'truncate') return `${plural(counters.removed, 'tile')} deleted`;
  return `${countText(tilesProcessed)} of ${plural(tilesTotal, 'tile')}`;
}

function countersOf(task: TaskDocument): string {
  const { made, present, blank, failed, bytes, upstreamRequests } = task.counters;
  const seeding = [
    `${countText(made)} created`,
    `${countText(present)} already cached`,
    blank > 0 ? `${countText(blank)} blank` : '',
    sizeText(bytes),
    plural(upstreamRequests, 'upstream request'),
  ];
  return [
    progressCount(task),
    ...(task.type === 'truncate' ? [sizeText(bytes)] : seeding),
    failed > 0 ? `${countText(failed)} failed` : '',
  ]
    .filter((fact) => fact !== '')
    .join(' · ');
}

function waiting({ state, reason }: TaskDocument): string {
  return `${state === 'pending' ? 'waiting' : state}${reason === null ? '' : ` (${reason})`}`;
}

function took({ startedAt, endedAt }: TaskDocument): string {
  if (startedAt === null || endedAt === null) return '';
  return ` · in ${durationText((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}`;
}

export type TaskDocument = ApiResponse<'GET /api/v1/tasks/{id}'>;

export function isOver({ state }: TaskDocument): boolean {
  return state === 'done' || state === 'aborted';
}
