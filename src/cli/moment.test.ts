import { describe, expect, it } from 'vitest';
import { momentIn } from './command.ts';

const NOW = Date.parse('2026-06-15T12:00:00Z');
const read = (when: string, direction: -1 | 1 = -1) =>
  new Date(momentIn('older-than', { 'older-than': when }, direction, { now: () => NOW }) ?? 0).toISOString();

describe('a time on the command line', () => {
  it.each([
    ['7d', '2026-06-08T12:00:00.000Z'],
    ['2 w', '2026-06-01T12:00:00.000Z'],
    ['12h', '2026-06-15T00:00:00.000Z'],
    ['30min', '2026-06-15T11:30:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:00:00+01:00', '2026-01-31T11:00:00.000Z'],
  ])('the time %s on the command line is so long ago, or a date', (when, time) => {
    expect(read(when)).toBe(time);
  });

  it('a time on the command line may be in the future', () => {
    expect(read('90d', 1)).toBe('2026-09-13T12:00:00.000Z');
  });

  it.each(['7', '7 days', '5m', '2026', 'yesterday', '-7d', '2026-02-31T99:00:00Z', ''])(
    'the time %j on the command line is refused, with the name of the flag',
    (when) => {
      expect(() => read(when)).toThrow(/^--older-than must be a time span such as 7d/);
    },
  );

  it('a time on the command line is null without the flag', () => {
    expect(momentIn('older-than', {}, -1, { now: () => NOW })).toBeNull();
  });
});
