import fc from 'fast-check';
import { expect, it } from 'vitest';
import { httpDate } from './http-date.ts';

it('a date in a header is that of toUTCString', () => {
  const times = fc.integer({ min: -5_000_000_000_000, max: 250_000_000_000_000 });
  fc.assert(fc.property(times, (time) => httpDate(time) === new Date(time).toUTCString()));
  for (const time of [0, 59_999, 86_399_999, 86_400_000, -1]) {
    expect(httpDate(time)).toBe(new Date(time).toUTCString());
  }
});
