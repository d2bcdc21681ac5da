import { describe, expect, it } from 'vitest';
import { createTimetable } from './timetable.ts';

const at = (text: string) => Date.parse(text);
const nightly = createTimetable({ cron: '30 22 * * *', timeZone: 'Europe/Berlin', hours: '22:00-06:00' });

describe('a timetable', () => {
  it('is read in its own time zone, in summer and in winter', () => {
    expect(nightly.dueAfter(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-10T21:30:00Z'));
    expect(nightly.dueAfter(at('2026-07-10T12:00:00Z'))).toBe(at('2026-07-10T20:30:00Z'));
  });

  it('finds the latest of the times that were missed', () => {
    const first = at('2026-01-01T21:30:00Z');
    expect(nightly.latestDue(first, at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-09T21:30:00Z'));
    expect(nightly.latestDue(first, first)).toBe(first);
  });

  it('lets a run begin only within its hours', () => {
    expect(nightly.mayBeginAt(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-10T21:00:00Z'));
  });

  it.each([
    [{ cron: '61 * * * *' }, 'cron must be five fields'],
    [{ cron: '* * * * * *' }, 'cron must be five fields'],
    [{ cron: '' }, 'cron must be five fields'],
    [{ timeZone: 'Mars/Olympus' }, 'timeZone must be an IANA name'],
    [{ hours: '6 to 8' }, 'hours must be hours such as 22:00-06:00'],
  ])('refuses %j in words', (wrong, message) => {
    const times = { cron: '@daily', timeZone: 'UTC', hours: null, ...wrong };
    expect(() => createTimetable(times)).toThrow(message);
  });
});
