import { describe, expect, it } from 'vitest';
import { DailyHours } from './daily-hours.ts';
import { LocalTime } from './local-time.ts';

const berlin = new LocalTime('Europe/Berlin');
const at = (text: string) => Date.parse(text);

describe('hours that come back every day', () => {
  const night = new DailyHours(['22:00-06:00'], berlin);

  it('reach over midnight, in their own time zone', () => {
    expect(night.until(at('2026-01-10T22:30:00Z'))).toBe(at('2026-01-11T05:00:00Z'));
    expect(night.until(at('2026-01-11T04:59:59Z'))).toBe(at('2026-01-11T05:00:00Z'));
    expect(night.until(at('2026-01-11T05:00:00Z'))).toBeNull();
  });

  it('begin at once for whoever is in them, and otherwise when they come', () => {
    expect(night.from(at('2026-01-10T12:00:00Z'))).toBe(at('2026-01-10T21:00:00Z'));
    expect(night.from(at('2026-01-10T23:00:00Z'))).toBe(at('2026-01-10T23:00:00Z'));
  });

  it('are those that clocks show, also in the night in which clocks are changed', () => {
    expect(night.until(at('2026-03-28T22:00:00Z'))).toBe(at('2026-03-29T04:00:00Z'));
    expect(night.until(at('2026-10-24T21:00:00Z'))).toBe(at('2026-10-25T05:00:00Z'));
  });

  it('never begin when there are none', () => {
    expect(new DailyHours([], berlin).from(0)).toBeNull();
  });

  it.each(['22-06', '25:00-06:00', '22:00', '22:00-06:60', ''])('are not read from %j', (text) => {
    expect(() => new DailyHours([text], berlin)).toThrow(RangeError);
  });
});
