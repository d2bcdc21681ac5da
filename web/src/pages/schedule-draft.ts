import type { Answer, Body } from '../api/client.ts';
import { cronFault } from '../cron-text.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { type Faults, type Plan, planFrom, queryOf, readPlan, TASK_TYPES } from './seed-plan.ts';

export type Schedule = Answer<'/api/v1/schedules/{id}'>;
type Saved = Body<'POST /api/v1/schedules'>;

/** The form as it is typed. */
export interface ScheduleDraft {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  /** `HH:MM`, or empty: at any hour. */
  readonly from: string;
  readonly until: string;
  readonly overrun: Schedule['overrun'];
  readonly enabled: boolean;
  readonly plan: Plan;
  readonly unshown: Unshown;
}

/** What the form does not show, and keeps. */
const UNSHOWN = [
  'priority',
  'tileFailureRetryCount',
  'tileFailureRetryWaitTime',
  'totalFailuresBeforeAborting',
] as const;
type Unshown = Partial<Record<(typeof UNSHOWN)[number], number>>;

/** What of it says what is done. */
const GIVEN = [
  ...(['layer', 'type', 'gridSet', 'format', 'parameters', 'zoomStart', 'zoomStop'] as const),
  ...(['bounds', 'threadCount', 'area', 'areaCrs'] as const),
];

const WORDS = TEXTS.schedules;
export const WORK = [...TASK_TYPES, 'invalidate'] as const;

/** A schedule as it is, or what is proposed for a new one; null for a layer without grid sets. */
export function draftOf(
  layer: LayerInfo,
  query: URLSearchParams,
  schedule: Schedule | null,
): ScheduleDraft | null {
  const wanted = schedule ? new URLSearchParams(queryOf(picked(schedule, GIVEN))) : query;
  const plan = planFrom(layer, wanted, 'seed', schedule !== null);
  if (!plan) return null;
  const [from = '', until = ''] = schedule?.hours?.split('-') ?? [];
  return {
    name: query.get('name') ?? schedule?.name ?? '',
    cron: query.get('cron') ?? schedule?.cron ?? WORDS.presets[1][0],
    timeZone: query.get('timeZone') ?? schedule?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    from,
    until,
    overrun: schedule?.overrun ?? 'pause',
    enabled: schedule?.enabled ?? true,
    plan,
    unshown: schedule ? unshownOf(schedule) : {},
  };
}

function unshownOf(schedule: Schedule): Unshown {
  return picked(schedule, UNSHOWN) as Unshown;
}

/** Those that are said. */
function picked<Name extends keyof Schedule>(schedule: Schedule, names: readonly Name[]) {
  const said = names.filter((name) => schedule[name] !== null);
  return Object.fromEntries(said.map((name) => [name, schedule[name]])) as Partial<Pick<Schedule, Name>>;
}

/** The body of `POST /api/v1/schedules`, or what is wrong, by field. */
export function readDraft(draft: ScheduleDraft): { readonly body: Saved | null; readonly faults: Faults } {
  const { plan, name, cron, timeZone, from, until, overrun, enabled, unshown } = draft;
  const { request, faults: planFaults } = readPlan(plan);
  const wrong = cronFault(cron);
  const faults = {
    ...planFaults,
    ...(name.trim() === '' && { name: WORDS.nameMissing }),
    ...(wrong !== null && { cron: wrong }),
    ...((from === '') !== (until === '') && { hours: WORDS.bothHours }),
  };
  if (!request || Object.keys(faults).length > 0) return { body: null, faults };
  const hours = from === '' ? {} : { hours: `${from}-${until}` };
  const type = WORK.find((one) => one === request.type) ?? 'seed';
  return {
    body: { name: name.trim(), cron, timeZone, ...hours, overrun, enabled, ...request, type, ...unshown },
    faults,
  };
}

export function switchedBody(schedule: Schedule): Saved {
  const { name, cron, timeZone, hours, overrun, enabled } = schedule;
  const when = { layer: schedule.layer, name, cron, timeZone, hours, overrun, enabled: !enabled };
  return { ...(picked(schedule, GIVEN) as Partial<Saved>), ...when, ...unshownOf(schedule) };
}

/** The server has a sentence for each field, which begins with its name. */
export function faultsFrom(message: string): Faults {
  const sentences = message.split(/(?<=[.?]) (?=\w+ (?:must|is) )/);
  return Object.fromEntries(sentences.map((text) => [text.split(' ', 1)[0], text]));
}
