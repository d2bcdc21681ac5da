import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addPeriod, printInstant, readInstant, readPeriod } from './iso-time.ts';
import { idWithoutTimes, parametersIdOf, selectParameters } from './parameter-filter.ts';
import { createTimeFilter } from './time-filter.ts';
import { MAX_LISTED_TIMES, readListedTimes, readTimeValues } from './time-values.ts';

const NOW = Date.parse('2026-06-15T10:30:00Z');

interface Declared {
  readonly values: readonly string[];
  readonly default?: string;
  readonly nearest?: boolean;
  readonly keep?: string;
  readonly now?: number;
}

function time(declared: Declared) {
  const list = { values: readTimeValues(declared.values), revision: 0 };
  const filter = createTimeFilter({
    name: 'time',
    list: () => list,
    defaultValue: declared.default ?? 'latest',
    nearest: declared.nearest ?? false,
    keep: declared.keep === undefined ? null : readPeriod(declared.keep),
    now: () => declared.now ?? NOW,
  });
  if (!filter.times) throw new Error('no times');
  return { ...filter, defaultValue: filter.defaultValue, times: filter.times, filter };
}

describe('a time parameter', () => {
  it('requests are normalised to the listed instant', () => {
    const { apply } = time({ values: ['2026-01-01/2026-12-31/P1D', '2025-06-01T12:00:00Z'] });
    for (const text of ['2026-03-04', '2026-03-04T00:00Z', '2026-03-04T01:00:00.000+01:00']) {
      expect(apply(text)).toBe('2026-03-04');
    }
    expect(apply('2025-06-01T12:00')).toBe('2025-06-01T12:00:00Z');
  });

  it('latest, current and a missing value mean the default', () => {
    const values = ['2026-01-01T00:00:00Z/now/PT1H'];
    for (const word of ['', 'latest', 'current', 'CURRENT', 'default']) {
      expect(time({ values }).apply(word)).toBe('2026-06-15T10:00:00Z');
      expect(time({ values, default: '2026-02-01' }).apply(word)).toBe('2026-02-01T00:00:00Z');
    }
    expect(time({ values: ['2025-12-24', ...values] }).defaultValue).toBe('2026-06-15T10:00:00Z');
    expect(time({ values, now: NOW + 3_600_000 }).defaultValue).toBe('2026-06-15T11:00:00Z');
  });

  it('an instant that is not listed is refused, and the message lists intervals by their ends', () => {
    const { apply } = time({ values: ['2026-01-01/now/P1D'] });
    for (const text of [
      '2025-12-31',
      '2026-06-16',
      '2026-03-04T00:00:01Z',
      '2026-01-01/2026-02-01',
      'x',
      '2026-01-01,2026-01-02',
    ]) {
      expect(() => apply(text)).toThrow('2026-01-01/2026-06-15/P1D');
    }
  });

  it('the nearest listed instant is used on request, and noted', () => {
    const { apply, filter } = time({ values: ['2026-01-01/2026-01-31/P10D', '2026-03-01'], nearest: true });
    expect(apply('2020')).toBe('2026-01-01');
    expect(apply('2026-01-07')).toBe('2026-01-11');
    expect(apply('2026-02-20')).toBe('2026-03-01');
    expect(apply('2026-01-06')).toBe('2026-01-01');
    expect(apply('2030')).toBe('2026-03-01');
    const select = (value: string) => selectParameters([filter], new Map([['TIME', value]]));
    expect(select('2026-01-12').note).toBe('Nearest value used: time=2026-01-11 ISO8601');
    expect(select('2026-01-11T00:00:00Z').note).toBeUndefined();
    expect(select('latest').note).toBeUndefined();
  });

  it('tiles are named by their instant, never as the default combination', () => {
    const { filter } = time({ values: ['2026-01-01/now/P1D'] });
    const [missing, latest, exact] = [[], [['TIME', 'latest']], [['time', '2026-06-15T00:00Z']]].map(
      (given) => selectParameters([filter], new Map(given as [string, string][])),
    );
    expect(missing).toEqual(exact);
    expect(latest).toEqual(exact);
    expect(exact).toMatchObject({ id: parametersIdOf(new Map([['TIME', '2026-06-15']])), timed: true });
    expect(idWithoutTimes([filter], new Map([['TIME', '2026-06-15']]))).toBeNull();
  });

  it('a window lists what is not older than it, counted from the latest instant or from now', () => {
    const past = time({ values: ['2020-01-01/2020-12-31/P1D'], keep: 'P7D' });
    expect(past.times.summary()).toEqual({
      default: '2020-12-31',
      count: 8,
      first: '2020-12-24',
      last: '2020-12-31',
    });
    expect(past.times.listed()).toEqual(['2020-12-24/2020-12-31/P1D']);
    expect(past.times.includes('2020-12-24')).toBe(true);
    expect(past.times.includes('2020-12-23')).toBe(false);
    expect(() => past.apply('2020-12-23')).toThrow('violates filter');
    const forecast = time({ values: ['2026-06-01/2026-06-25/P1D'], keep: 'P1D' });
    expect(forecast.times.summary()).toMatchObject({ first: '2026-06-15', count: 11 });
    const list = time({ values: ['2026-01-01,2026-01-02', '2026-01-05'], keep: 'P3D' });
    expect(list.times.listed()).toEqual(['2026-01-02', '2026-01-05']);
  });

  it('the latest instants come one by one, whatever lists them', () => {
    const { times } = time({ values: ['2026-01-01/2026-01-03/P1D', '2026-01-02T12:00:00Z', '2026-01-05'] });
    expect(times.latest(4)).toEqual(['2026-01-02', '2026-01-02T12:00:00Z', '2026-01-03', '2026-01-05']);
    expect(times.latest(9)).toHaveLength(5);
  });

  it('an interval of millions of instants is never listed', () => {
    const { times, apply } = time({ values: ['1990-01-01T00:00:00Z/now/PT1S'] });
    expect(times.summary()?.count).toBeGreaterThan(1e9);
    expect(times.listed()).toHaveLength(1);
    expect(apply('2001-02-03T04:05:06Z')).toBe('2001-02-03T04:05:06Z');
  });

  it.each([
    '',
    '2026-02-30',
    '2026-01-01/2026-02-01',
    '2026-02-01/2026-01-01/P1D',
    '2026-01-01/now/P0D',
    'now',
    'a/b/c/d',
  ])('the values %j are refused', (text) =>
    expect(() => readTimeValues([text])).toThrow('must be a time such as'),
  );

  it('a list of too many entries is refused', () => {
    expect(() => readTimeValues([`${'2026,'.repeat(20_000)}2026`])).toThrow('write intervals');
  });

  it('every instant of an interval is listed, and the nearest is the nearest of all', () => {
    const anyValues = fc.record({
      start: fc.integer({ min: 0, max: 4e12 }).map((at) => at - (at % 1000)),
      months: fc.nat(14),
      days: fc.nat(40),
      hours: fc.nat(30),
      count: fc.integer({ min: 1, max: 60 }),
      wanted: fc.integer({ min: -1e11, max: 4.2e12 }),
    });
    fc.assert(
      fc.property(anyValues, ({ start, months, days, hours, count, wanted }) => {
        const period = readPeriod(`P${months}M${days}DT${hours}H`);
        if (!period) return;
        const all = Array.from({ length: count }, (_, n) => addPeriod(start, period, n));
        const ends = [start, all.at(-1) ?? start].map((at) => printInstant(at, 'second'));
        const values = [[...ends, period.text].join('/')];
        const { times, apply } = time({ values, nearest: true });
        expect(times.summary()?.count).toBe(count);
        for (const at of all) expect(readInstant(apply(printInstant(at, 'second')))?.at).toBe(at);
        const best = all.reduce((a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a));
        const text = printInstant(Math.max(0, wanted), 'second');
        const near = readInstant(apply(text))?.at ?? Number.NaN;
        if (wanted >= 0) expect(Math.abs(near - wanted)).toBe(Math.abs(best - wanted));
      }),
    );
  });
});

describe('the list of a source', () => {
  it('a hundred thousand times in any order are read in turns of the event loop, and written sorted', async () => {
    const texts = Array.from({ length: MAX_LISTED_TIMES }, (_, index) =>
      printInstant(Date.UTC(2000, 0, 1) + ((index * 7919) % MAX_LISTED_TIMES) * 60_000, 'second'),
    );
    let turns = 0;
    let isReading = true;
    const count = () => {
      turns++;
      if (isReading) setImmediate(count);
    };
    setImmediate(count);
    const values = await readListedTimes([texts.join(', ')]);
    isReading = false;
    expect(turns).toBeGreaterThanOrEqual(100);
    expect(values.written()).toBe(texts.toSorted().join(','));
    expect((await readListedTimes([values.written()])).written()).toBe(values.written());
  });

  it('a list is refused when it is too long, or has a value that is no time', async () => {
    const many = Array.from({ length: MAX_LISTED_TIMES + 1 }, () => '2026').join(',');
    await expect(readListedTimes([many])).rejects.toThrow('at most 100000 entries');
    const intervals = Array.from({ length: 1001 }, (_, index) => `${1000 + index}/${1001 + index}/P1M`);
    await expect(readListedTimes(intervals)).rejects.toThrow('at most 1000 intervals');
    await expect(readListedTimes(['2026,2020-01-01/2021-01-01'])).rejects.toThrow(
      '2020-01-01/2021-01-01 must be',
    );
    await expect(readListedTimes(['2026-13'])).rejects.toThrow('2026-13 must be a time such as');
  });

  it('an interval is written as it was listed, also one that ends now', async () => {
    const values = await readListedTimes([
      '2026-01-01T02:00+02:00/2026-02-01/PT6H',
      '2026-01-01/now/P1D',
      '2025,\n',
    ]);
    expect(values.written()).toBe('2025,2026-01-01T00:00:00Z/2026-02-01T00:00:00Z/PT6H,2026-01-01/now/P1D');
  });
});
