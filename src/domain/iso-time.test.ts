import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addPeriod, LAST_INSTANT, printInstant, readInstant, readPeriod } from './iso-time.ts';

const anyInstant = () => fc.integer({ min: -62_167_219_200_000, max: LAST_INSTANT });

describe('instants of ISO 8601', () => {
  it('an instant that is printed is read as the same', () => {
    fc.assert(
      fc.property(anyInstant(), (at) => {
        const text = printInstant(at, 'second');
        expect(readInstant(text)).toEqual({ at, precision: 'second' });
        expect(readInstant(text.toLowerCase())?.at).toBe(at);
        const day = printInstant(at, 'day');
        expect(readInstant(day)).toEqual({ at: Date.parse(`${day}T00:00:00Z`), precision: 'day' });
      }),
    );
  });

  it.each([
    ['2026', '2026-01-01T00:00:00.000Z', 'year'],
    ['2026-03', '2026-03-01T00:00:00.000Z', 'month'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z', 'day'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z', 'day'],
    ['2026-03-04T05Z', '2026-03-04T05:00:00.000Z', 'second'],
    ['2026-03-04T05:06', '2026-03-04T05:06:00.000Z', 'second'],
    ['2026-03-04T05:06:07.5Z', '2026-03-04T05:06:07.500Z', 'second'],
    ['2026-03-04T05:06:07,123456Z', '2026-03-04T05:06:07.123Z', 'second'],
    ['2026-03-04T05:06:07+02:00', '2026-03-04T03:06:07.000Z', 'second'],
    ['2026-03-04T23:06:07-0130', '2026-03-05T00:36:07.000Z', 'second'],
  ])('%s is %s', (text, iso, precision) => {
    expect(readInstant(text)).toEqual({ at: Date.parse(iso), precision });
  });

  it.each(['', 'x', '26', '2026-13', '2026-02-29', '2026-1-1', '2026-01-01T24:00:00Z', '2026-01-01T00:60Z'])(
    '%j is not an instant',
    (text) => expect(readInstant(text)).toBeNull(),
  );

  it.each([
    '2026-01-01T00:00:00+25:00',
    '2026-01-01/2026-02-01',
    '2026-01-01,2026-02-01',
    '0000-01-01T00:00:00+01:00',
  ])('%j is not an instant either', (text) => expect(readInstant(text)).toBeNull());

  it('any other text is not an instant, and its reader never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = readInstant(text);
        if (read) expect(Number.isFinite(read.at)).toBe(true);
        readPeriod(text);
      }),
    );
  });
});

describe('periods of ISO 8601', () => {
  it.each([
    ['P1D', 0, 86_400_000],
    ['PT1H', 0, 3_600_000],
    ['P1Y2M', 14, 0],
    ['P1W', 0, 7 * 86_400_000],
    ['P1M1DT1H1M1.5S', 1, 86_400_000 + 3_600_000 + 60_000 + 1500],
  ])('%s has %i months and %i milliseconds', (text, months, span) => {
    expect(readPeriod(text)).toEqual({ months, span, text });
  });

  it.each(['', 'P', 'PT', 'P0D', 'PT0S', '1D', 'P1H', 'P-1D', 'P1D2M'])('%j is not a period', (text) => {
    expect(readPeriod(text)).toBeNull();
  });

  it('months end at their last day, and sequences rise', () => {
    const month = { months: 1, span: 0 };
    const start = Date.parse('2024-01-31T12:00:00Z');
    expect(printInstant(addPeriod(start, month, 1), 'second')).toBe('2024-02-29T12:00:00Z');
    expect(printInstant(addPeriod(start, month, 13), 'second')).toBe('2025-02-28T12:00:00Z');
    expect(printInstant(addPeriod(start, month, -2), 'second')).toBe('2023-11-30T12:00:00Z');
    const periods = fc
      .record({ months: fc.nat(30), span: fc.nat(1e9) })
      .filter((one) => one.months + one.span > 0);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), periods, fc.nat(500), (at, period, times) => {
        expect(addPeriod(at, period, times + 1)).toBeGreaterThan(addPeriod(at, period, times));
      }),
    );
  });
});
