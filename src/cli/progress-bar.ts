import type { ApiResponse } from '../app.ts';
import { amountOf, bar, countOf, durationOf, sizeOf, withLocalTimes } from './format.ts';

const MAX_BAR = 30;
const MIN_BAR = 8;

/** One line for a terminal of so many columns, e.g. `seed world ███░░░  43 %  2,340 of 5,461 tiles · 310/s · 10 s left`. */
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
    workOf(task),
    withLocalTimes(state === 'running' ? (task.reason ?? '') : waiting(task)),
    tilesPerSecond > 0 && type !== 'truncate' ? `${countOf(tilesPerSecond)}/s` : '',
    state === 'running' && secondsRemaining >= 0 ? `${durationOf(secondsRemaining)} left` : '',
    counters.failed > 0 ? `${countOf(counters.failed)} failed` : '',
  ];
  return facts.filter((fact) => fact !== '').join(' · ');
}

export function outcomeOf(task: TaskDocument): string {
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
export function stateOf({ state, outcome }: TaskDocument): string {
  return outcome ? ENDINGS[outcome] : state;
}

/** Of a truncation the tiles that were there: the others of its area are no work. */
function workOf({ type, counters, tilesProcessed, tilesTotal }: TaskDocument): string {
  if (type === 'truncate') return `${amountOf(counters.removed, 'tile')} deleted`;
  return `${countOf(tilesProcessed)} of ${amountOf(tilesTotal, 'tile')}`;
}

function countersOf(task: TaskDocument): string {
  const { made, present, blank, failed, bytes, upstreamRequests } = task.counters;
  const seeding = [
    `${countOf(made)} created`,
    `${countOf(present)} already cached`,
    blank > 0 ? `${countOf(blank)} blank` : '',
    sizeOf(bytes),
    amountOf(upstreamRequests, 'upstream request'),
  ];
  return [
    workOf(task),
    ...(task.type === 'truncate' ? [sizeOf(bytes)] : seeding),
    failed > 0 ? `${countOf(failed)} failed` : '',
  ]
    .filter((fact) => fact !== '')
    .join(' · ');
}

function waiting({ state, reason }: TaskDocument): string {
  return `${state === 'pending' ? 'waiting' : state}${reason === null ? '' : ` (${reason})`}`;
}

function took({ startedAt, endedAt }: TaskDocument): string {
  if (startedAt === null || endedAt === null) return '';
  return ` · in ${durationOf((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}`;
}

export type TaskDocument = ApiResponse<'GET /api/v1/tasks/{id}'>;

export function isOver({ state }: TaskDocument): boolean {
  return state === 'done' || state === 'aborted';
}
