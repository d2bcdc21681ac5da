import type { ApiBody, ApiResponse } from '../api/client.ts';
import { cronFault } from '../cron-text.ts';
import { TASK_TYPES, type TaskRequest } from '../task-request.ts';
import { TEXTS } from '../texts.ts';
import type { Faults } from './work-plan.ts';

export type Schedule = ApiResponse<'GET /api/v1/schedules/{id}'>;
type ScheduleBody = ApiBody<'POST /api/v1/schedules'>;

export interface When {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  /** `HH:MM`, or empty: at any hour. */
  readonly from: string;
  readonly until: string;
  readonly overrun: Schedule['overrun'];
  readonly enabled: boolean;
}

const WORDS = TEXTS.schedules;
const NIGHTLY = '0 22 * * *';
export const SCHEDULED_WORK = [...TASK_TYPES, 'invalidate'] as const;

export function whenOf(schedule: Schedule | null): When {
  const [from = '', until = ''] = schedule?.hours?.split('-') ?? [];
  return {
    name: schedule?.name ?? '',
    cron: schedule?.cron ?? NIGHTLY,
    timeZone: schedule?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    from,
    until,
    overrun: schedule?.overrun ?? 'pause',
    enabled: schedule?.enabled ?? true,
  };
}

export function whenFaults({ name, cron, from, until }: When): Faults {
  const wrong = cronFault(cron);
  return {
    ...(name.trim() === '' && { name: WORDS.nameMissing }),
    ...(wrong !== null && { cron: wrong }),
    ...((from === '') !== (until === '') && { hours: WORDS.bothHours }),
  };
}

/** The body that saves the request with its times; settings without a field stay as they are in `schedule`. */
export function scheduleBody(
  { name, cron, timeZone, from, until, overrun, enabled }: When,
  request: TaskRequest,
  schedule: Schedule | null,
): ScheduleBody {
  const {
    hours: _,
    bounds,
    area,
    areaCrs,
    ...kept
  }: Partial<ScheduleBody> = schedule ? bodyOf(schedule) : {};
  const type = SCHEDULED_WORK.find((one) => one === request.type) ?? 'seed';
  const times = { cron, timeZone, overrun, enabled, ...(from !== '' && { hours: `${from}-${until}` }) };
  return { ...kept, ...request, type, name: name.trim(), ...times };
}

/** The body that leaves a schedule as it is. */
export function bodyOf(schedule: Schedule): ScheduleBody {
  const { id, origin, createdBy, createdAt, nextRuns, lastRun, ...settings } = schedule;
  const entries = Object.entries(settings).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as unknown as ScheduleBody;
}
