import { Cron } from 'croner';
import { TilewardenError } from '../../domain/errors.ts';
import { DailyHours } from '../../lib/daily-hours.ts';
import { LocalTime } from '../../lib/local-time.ts';
import type { ScheduleDeclaration } from './schedule.ts';

/** Milliseconds. What is due is so at a full one. */
const MINUTE = 60_000;

/** Throws `request-invalid` that names the field. */
export function createTimetable({
  cron,
  timeZone,
  hours,
}: Pick<ScheduleDeclaration, 'cron' | 'timeZone' | 'hours'>) {
  const local = reading(
    'timeZone',
    'an IANA name such as Europe/Berlin or UTC',
    timeZone,
    () => new LocalTime(timeZone),
  );
  const pattern = reading(
    'cron',
    'five fields (minute, hour, day of month, month, day of week), e.g. "0 22 * * *"',
    cron,
    () => new Cron(cron, { timezone: timeZone, mode: '5-part', paused: true }),
  );
  const daily = reading(
    'hours',
    'hours such as 22:00-06:00',
    hours ?? '',
    () => new DailyHours(hours === null ? [] : [hours], local),
  );

  function dueAfter(time: number): number | null {
    return pattern.nextRun(new Date(time))?.getTime() ?? null;
  }

  return {
    /** The first time after `time`; null when none comes any more. */
    dueAfter,
    /** The latest time up to `time`, counted from `first`, a time at which it is due. */
    latestDue(first: number, time: number): number {
      const nextMinute = (Math.floor(time / MINUTE) + 1) * MINUTE;
      const [latest] = pattern.previousRuns(1, new Date(nextMinute));
      return Math.max(first, latest?.getTime() ?? first);
    },
    /** When a run that is due at `time` may begin: then, or when its hours come. */
    mayBeginAt: (time: number): number => daily.from(time) ?? time,
  };
}

function reading<Part>(field: string, allowed: string, given: string, read: () => Part): Part {
  try {
    return read();
  } catch (error) {
    throw new TilewardenError(
      'request-invalid',
      `${field} must be ${allowed}, not ${JSON.stringify(given)}.`,
      {
        cause: error,
      },
    );
  }
}
