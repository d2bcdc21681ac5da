import { describe, expect, it } from 'vitest';
import { DailyHours } from './daily-hours.ts';
import { LocalTime } from './local-time.ts';

function until(hours: string | readonly string[], zone: string, at: string): string | null {
  const quiet = new DailyHours([hours].flat(), new LocalTime(zone));
  const end = quiet.until(Date.parse(at));
  return end === null ? null : new Date(end).toISOString();
}

describe('hours that come back every day', () => {
  it.each([
    ['2026-11-15T05:59:59Z', null],
    ['2026-11-15T06:00:00Z', '2026-11-15T22:00:00.000Z'],
    ['2026-11-15T21:59:59Z', '2026-11-15T22:00:00.000Z'],
    ['2026-11-15T22:00:00Z', null],
  ])('daily hours last from their first minute to their end: %s', (at, end) => {
    expect(until('06:00-22:00', 'UTC', at)).toBe(end);
  });

  it.each([
    ['2026-11-15T21:59:00Z', null],
    ['2026-11-15T22:30:00Z', '2026-11-16T06:00:00.000Z'],
    ['2026-11-16T05:00:00Z', '2026-11-16T06:00:00.000Z'],
  ])('daily hours may go over midnight: %s', (at, end) => {
    expect(until('22:00-06:00', 'UTC', at)).toBe(end);
  });

  it('daily hours are those of their time zone', () => {
    expect(until('06:00-22:00', 'Asia/Kolkata', '2026-11-15T00:29:00Z')).toBeNull();
    expect(until('06:00-22:00', 'Asia/Kolkata', '2026-11-15T00:30:00Z')).toBe('2026-11-15T16:30:00.000Z');
  });

  it('daily hours end at the right moment of a day on which clocks are changed', () => {
    // Berlin, 29 March 2026: 02:00 is followed by 03:00; 25 October: 03:00 by 02:00.
    expect(until('22:00-06:00', 'Europe/Berlin', '2026-03-28T22:00:00Z')).toBe('2026-03-29T04:00:00.000Z');
    expect(until('22:00-06:00', 'Europe/Berlin', '2026-10-24T21:00:00Z')).toBe('2026-10-25T05:00:00.000Z');
  });

  it('daily hours begin and end when clocks jump over their configured time', () => {
    const jump = '2026-03-29T01:00:00.000Z';
    expect(until('22:00-02:30', 'Europe/Berlin', '2026-03-28T22:00:00Z')).toBe(jump);
    expect(until('22:00-02:30', 'Europe/Berlin', '2026-03-29T00:40:00Z')).toBe(jump);
    const morning = new DailyHours(['02:30-05:00'], new LocalTime('Europe/Berlin'));
    expect(morning.from(Date.parse('2026-03-29T00:10:00Z'))).toBe(Date.parse(jump));
    expect(morning.from(Date.parse(jump))).toBe(Date.parse(jump));
  });

  it('daily hours may be several, and may last all day', () => {
    const both = ['08:00-12:00', '13:00-24:00'];
    expect(until(both, 'UTC', '2026-11-15T09:00:00Z')).toBe('2026-11-15T12:00:00.000Z');
    expect(until(both, 'UTC', '2026-11-15T12:30:00Z')).toBeNull();
    expect(until(both, 'UTC', '2026-11-15T23:00:00Z')).toBe('2026-11-16T00:00:00.000Z');
    expect(until('00:00-24:00', 'UTC', '2026-11-15T12:00:00Z')).toBe('2026-11-16T00:00:00.000Z');
  });

  it('daily hours are null when none are configured', () => {
    expect(until([], 'UTC', '2026-11-15T12:00:00Z')).toBeNull();
  });

  it('daily hours begin immediately when they are on, and otherwise with their next start', () => {
    const night = new DailyHours(['22:00-06:00'], new LocalTime('Europe/Berlin'));
    expect(night.from(Date.parse('2026-01-10T12:00:00Z'))).toBe(Date.parse('2026-01-10T21:00:00Z'));
    expect(night.from(Date.parse('2026-01-10T23:00:00Z'))).toBe(Date.parse('2026-01-10T23:00:00Z'));
    expect(new DailyHours([], new LocalTime('UTC')).from(0)).toBeNull();
  });

  it.each(['22-06', '25:00-06:00', '22:00', '22:00-06:60', ''])(
    'daily hours are not read from %j',
    (text) => {
      expect(() => new DailyHours([text], new LocalTime('UTC'))).toThrow(RangeError);
    },
  );
});
