import { Cron } from 'croner';
import { TilewardenError } from '../../domain/errors.ts';
import { DailyHours } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import type { ScheduleDeclaration } from './schedule.ts';

/** Milliseconds. Due times are full minutes. */
const MINUTE = 60_000;

/** Throws `request-invalid` that names the field. */
export function createTimetable({
  cron,
  timeZone,
  hours,
}: Pick<ScheduleDeclaration, 'cron' | 'timeZone' | 'hours'>) {
  const zones = 'an IANA name such as Europe/Berlin or UTC';
  const local = reading('timeZone', timeZone, zones, () => new LocalTime(timeZone));
  const pattern = reading('cron', cron, null, () => readCron(cron, timeZone));
  const spans = hours === null ? [] : [hours];
  const daily = reading(
    'hours',
    hours ?? '',
    'hours such as 22:00-06:00',
    () => new DailyHours(spans, local),
  );

  function dueAfter(time: number): number | null {
    return pattern.nextRun(new Date(time))?.getTime() ?? null;
  }

  return {
    /** The first time after `time`; null: none. */
    dueAfter,
    /** The last due time up to `time`. `first` is a due time to count from. */
    latestDue(first: number, time: number): number {
      const nextMinute = (Math.floor(time / MINUTE) + 1) * MINUTE;
      const [latest] = pattern.previousRuns(1, new Date(nextMinute));
      return Math.max(first, latest?.getTime() ?? first);
    },
    /** When a run that is due at `time` may begin: then, or when its hours come. */
    mayBeginAt: (time: number): number => daily.from(time) ?? time,
  };
}

const FIELDS = [
  ['minute', '0-59'],
  ['hour', '0-23'],
  ['day of month', '1-31'],
  ['month', '1-12 or JAN-DEC'],
  ['day of week', '0-7 or SUN-SAT'],
] as const;

function readCron(cron: string, timeZone: string): Cron {
  return new Cron(cron, { timezone: timeZone, mode: '5-part', paused: true });
}

/** For an invalid expression: a message that names the wrong field. */
function allowedCron(cron: string): string {
  const fields = cron.trim().split(/\s+/);
  const fault = fields.length === FIELDS.length && FIELDS.find((_, at) => !isReadable(fields[at] ?? '', at));
  if (!fault) return `five fields (${FIELDS.map(([name]) => name).join(', ')}), e.g. "0 22 * * *"`;
  const [name, range] = fault;
  return `five fields whose ${name} is ${range}, *, or a list, a range or a step of these such as 1,2, 1-5 or */2`;
}

function isReadable(field: string, at: number): boolean {
  try {
    readCron(FIELDS.map((_, other) => (other === at ? field : '*')).join(' '), 'UTC');
    return true;
  } catch {
    return false;
  }
}

/** `allowed`: null for a cron expression. */
function reading<Part>(field: string, text: string, allowed: string | null, read: () => Part): Part {
  try {
    return read();
  } catch (error) {
    const message = `${field} must be ${allowed ?? allowedCron(text)}, not ${JSON.stringify(text)}.`;
    throw new TilewardenError('request-invalid', message, { cause: error });
  }
}
