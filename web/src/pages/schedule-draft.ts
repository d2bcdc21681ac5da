import type { Answer } from '../api/client.ts';
import { looksLikeCron } from '../cron-text.ts';
import { type LayerInfo, tileSetFrom } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { areaFrom, type Plan, requestOf } from './seed-plan.ts';

export type Schedule = Answer<'/api/v1/schedules/{id}'>;
export type Work = Schedule['type'];

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
  readonly plan: Omit<Plan, 'type'> & { readonly type: Work };
  /** What the form cannot show: an area of several polygons, a priority. */
  readonly kept: { readonly area?: unknown; readonly areaCrs?: string; readonly priority?: number };
}

export type Faults = Readonly<Partial<Record<string, string>>>;

const WORDS = TEXTS.schedules;
const FIRST_LEVELS = 4;
export const WORK: readonly Work[] = ['seed', 'reseed', 'truncate', 'invalidate'];

/** A schedule as it is, or what is proposed for a new one; null for a layer without grid sets. */
export function draftOf(
  layer: LayerInfo,
  query: URLSearchParams,
  schedule: Schedule | null,
): ScheduleDraft | null {
  const set = tileSetFrom(layer, schedule ? wishesOf(schedule) : query);
  if (!set) return null;
  const { zoomStart, zoomStop } = set.gridSet;
  const number = (name: string, usual: number) => Number(query.get(name) ?? usual);
  const [from = '', until = ''] = schedule?.hours?.split('-') ?? [];
  return {
    name: query.get('name') ?? schedule?.name ?? '',
    cron: query.get('cron') ?? schedule?.cron ?? WORDS.presets[1][0],
    timeZone: query.get('timeZone') ?? schedule?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    from,
    until,
    overrun: schedule?.overrun ?? 'pause',
    enabled: schedule?.enabled ?? true,
    plan: {
      set,
      type: schedule?.type ?? WORK.find((type) => type === query.get('type')) ?? 'reseed',
      area: areaFrom(schedule ? (schedule.bounds?.join(',') ?? null) : query.get('bounds')),
      zoomStart: schedule?.zoomStart ?? number('zoomStart', zoomStart),
      zoomStop: schedule?.zoomStop ?? number('zoomStop', Math.min(zoomStop, zoomStart + FIRST_LEVELS)),
      threadCount: schedule?.threadCount ?? number('threadCount', 2),
    },
    kept: schedule ? keptOf(schedule) : {},
  };
}

function wishesOf({ gridSet, format, parameters }: Schedule): URLSearchParams {
  const values = Object.entries(parameters ?? {}).map(([name, value]) => [`p.${name}`, value]);
  return new URLSearchParams([['gridSet', gridSet ?? ''], ['format', format ?? ''], ...values]);
}

function keptOf({ area, areaCrs, priority }: Schedule): ScheduleDraft['kept'] {
  return {
    ...(area !== null && areaCrs !== null && { area, areaCrs }),
    ...(priority !== null && { priority }),
  };
}

/** The body of `POST /api/v1/schedules`. */
export function bodyOf({
  plan,
  kept,
  from,
  until,
  name,
  cron,
  timeZone,
  overrun,
  enabled,
}: ScheduleDraft): object {
  const { area, areaCrs, priority } = kept;
  return {
    name,
    cron,
    timeZone,
    ...(from !== '' && { hours: `${from}-${until}` }),
    overrun,
    enabled,
    ...requestOf(plan),
    ...(area !== undefined && plan.area.kind === 'whole' && { area, areaCrs }),
    ...(priority !== undefined && { priority }),
  };
}

/** The same schedule, switched on or off. */
export function switchedBody(schedule: Schedule): object {
  const { layer, name, type, cron, timeZone, hours, overrun, enabled } = schedule;
  const { gridSet, format, parameters, zoomStart, zoomStop, bounds, threadCount } = schedule;
  const given = { hours, gridSet, format, parameters, zoomStart, zoomStop, bounds, threadCount };
  return {
    ...{ layer, name, type, cron, timeZone, overrun, enabled: !enabled },
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)),
    ...keptOf(schedule),
  };
}

/** What is wrong before it is sent, by field. */
export function faultsOf({ name, cron, from, until }: ScheduleDraft): Faults {
  return {
    ...(name.trim() === '' && { name: WORDS.nameMissing }),
    ...(!looksLikeCron(cron) && { cron: WORDS.cronShape }),
    ...((from === '') !== (until === '') && { hours: WORDS.bothHours }),
  };
}

/** The server begins with the name of the field. */
export function faultFrom(message: string): Faults {
  const [field = ''] = message.split(' ', 1);
  return ['name', 'cron', 'timeZone', 'hours'].includes(field) ? { [field]: message } : {};
}
