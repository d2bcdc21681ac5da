import { describe, expect, it } from 'vitest';
import { createTimetable } from './timetable.ts';

const at = (text: string) => Date.parse(text);
const nightly = createTimetable({ cron: '30 22 * * *', timeZone: 'Europe/Berlin', hours: '22:00-06:00' });

describe('a timetable', () => {
  it('a timetable is read in its own time zone, in summer and in winter', () => {
    expect(nightly.dueAfter(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-10T21:30:00Z'));
    expect(nightly.dueAfter(at('2026-07-10T12:00:00Z'))).toBe(at('2026-07-10T20:30:00Z'));
  });

  it('a timetable comes once on days on which clocks are changed, later where its time is left out', () => {
    // Berlin, 29 March 2026: 02:00 is followed by 03:00; 25 October: 03:00 by 02:00.
    const early = createTimetable({ cron: '30 2 * * *', timeZone: 'Europe/Berlin', hours: null });
    expect(early.dueAfter(at('2026-03-28T12:00:00Z'))).toBe(at('2026-03-29T01:00:00Z'));
    expect(early.dueAfter(at('2026-03-29T01:00:00Z'))).toBe(at('2026-03-30T00:30:00Z'));
    expect(early.dueAfter(at('2026-10-24T12:00:00Z'))).toBe(at('2026-10-25T00:30:00Z'));
    expect(early.dueAfter(at('2026-10-25T00:30:00Z'))).toBe(at('2026-10-26T01:30:00Z'));
    expect(early.latestDue(at('2026-10-20T00:30:00Z'), at('2026-10-25T12:00:00Z'))).toBe(
      at('2026-10-25T00:30:00Z'),
    );
    expect(early.latestDue(at('2026-03-20T01:30:00Z'), at('2026-03-29T12:00:00Z'))).toBe(
      at('2026-03-29T01:00:00Z'),
    );
  });

  it('a timetable finds the latest of very many, without going through them', () => {
    const often = createTimetable({ cron: '* * * * *', timeZone: 'Europe/Berlin', hours: null });
    const latest = often.latestDue(at('2020-01-01T00:00:00Z'), at('2026-06-01T10:00:30Z'));
    expect(latest).toBe(at('2026-06-01T10:00:00Z'));
  });

  it('a timetable finds the latest of the times that were missed', () => {
    const first = at('2026-01-01T21:30:00Z');
    expect(nightly.latestDue(first, at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-09T21:30:00Z'));
    expect(nightly.latestDue(first, first)).toBe(first);
    expect(nightly.latestDue(first, first + 1)).toBe(first);
    expect(nightly.latestDue(first, at('2026-01-02T21:29:59Z'))).toBe(first);
    expect(nightly.latestDue(first, at('2026-01-02T21:30:00Z'))).toBe(at('2026-01-02T21:30:00Z'));
  });

  it('a timetable lets a run begin only within its hours', () => {
    expect(nightly.mayBeginAt(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-10T21:00:00Z'));
  });

  it.each([
    [{ cron: '61 * * * *' }, 'cron must be five fields whose minute is 0-59, *, or'],
    [{ cron: '0 3 * * MON-FRY' }, 'whose day of week is 0-7 or SUN-SAT'],
    [{ cron: '* * * * * *' }, 'cron must be five fields'],
    [{ cron: '' }, 'cron must be five fields'],
    [{ timeZone: 'Mars/Olympus' }, 'timeZone must be an IANA name'],
    [{ hours: '6 to 8' }, 'hours must be hours such as 22:00-06:00'],
  ])('a timetable refuses %j in words', (wrong, message) => {
    const times = { cron: '@daily', timeZone: 'UTC', hours: null, ...wrong };
    expect(() => createTimetable(times)).toThrow(message);
  });
});
