import type { Answer } from '../api/client.ts';
import { cronFault } from '../cron-text.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { type Faults, type Plan, planFrom, queryOf, readPlan, TASK_TYPES, type Work } from './seed-plan.ts';

export type Schedule = Answer<'/api/v1/schedules/{id}'>;

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
  /** The form does not show it. */
  readonly priority: number | null;
}

const WORDS = TEXTS.schedules;
export const WORK: readonly Work[] = [...TASK_TYPES, 'invalidate'];

/** A schedule as it is, or what is proposed for a new one; null for a layer without grid sets. */
export function draftOf(
  layer: LayerInfo,
  query: URLSearchParams,
  schedule: Schedule | null,
): ScheduleDraft | null {
  const wanted = schedule ? new URLSearchParams(queryOf(given(schedule))) : query;
  const plan = planFrom(layer, wanted, 'reseed', schedule !== null);
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
    priority: schedule?.priority ?? null,
  };
}

/** What of it says what is done. */
function given(schedule: Schedule) {
  const { layer, type, gridSet, format, parameters, zoomStart, zoomStop } = schedule;
  const { bounds, threadCount, areaCrs } = schedule;
  const area = schedule.area as object | null;
  return {
    layer,
    type,
    gridSet,
    format,
    parameters,
    zoomStart,
    zoomStop,
    bounds,
    threadCount,
    area,
    areaCrs,
  };
}

/** The body of `POST /api/v1/schedules`, or what is wrong, by field. */
export function readDraft(draft: ScheduleDraft): { readonly body: object | null; readonly faults: Faults } {
  const { plan, name, cron, timeZone, from, until, overrun, enabled, priority } = draft;
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
  const order = priority === null ? {} : { priority };
  return {
    body: { name: name.trim(), cron, timeZone, ...hours, overrun, enabled, ...request, ...order },
    faults,
  };
}

/** The same schedule, enabled or disabled. */
export function switchedBody(schedule: Schedule): object {
  const { name, cron, timeZone, hours, overrun, enabled, priority } = schedule;
  const all = { ...given(schedule), name, cron, timeZone, hours, overrun, priority };
  const known = Object.entries(all).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(known), enabled: !enabled };
}

/** The server has a sentence for each field, which begins with its name. */
export function faultsFrom(message: string): Faults {
  const sentences = message.split(/(?<=[.?]) (?=\w+ (?:must|is) )/);
  return Object.fromEntries(sentences.map((text) => [text.split(' ', 1)[0], text]));
}
