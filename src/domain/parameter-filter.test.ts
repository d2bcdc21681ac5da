import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TilewardenError } from './errors.ts';
import {
  createParameterFilter,
  geoWebCacheIdOf,
  parametersIdOf,
  selectParameters,
} from './parameter-filter.ts';

const styles = createParameterFilter({
  name: 'styles',
  defaultValue: 'population',
  values: ['population', 'polygon', 'pophatch'],
});
const anything = (name: string) => createParameterFilter({ name, regex: '(?s).*' });

function refusalOf(action: () => unknown): TilewardenError {
  try {
    action();
  } catch (error) {
    if (error instanceof TilewardenError) return error;
  }
  throw new Error('nothing was refused');
}

describe('a filter of fixed values', () => {
  it('a filter of fixed values accepts listed ones, has a default, and names what is allowed', () => {
    expect(styles.apply('polygon')).toBe('polygon');
    expect(styles.apply('')).toBe('population');
    const refused = refusalOf(() => styles.apply('purple'));
    expect(refused.code).toBe('parameter-refused');
    expect(refused.message).toBe(
      'purple violates filter for parameter STYLES; allowed: population, polygon, pophatch',
    );
    expect(() => styles.apply('POLYGON')).toThrow('violates filter');
  });

  it('a parameter filter brings letters to one case when configured', () => {
    const upper = createParameterFilter({
      name: 'S',
      values: ['a', 'B'],
      defaultValue: 'a',
      normalize: 'upper',
    });
    expect(upper.values).toEqual(['A', 'B']);
    expect(upper.apply('b')).toBe('B');
    expect(upper.apply('')).toBe('A');
    expect(selectParameters([upper], new Map([['S', 'a']])).id).toBeNull();
    const lower = createParameterFilter({ name: 'S', values: ['Dark'], normalize: 'lower' });
    expect(lower.apply('DARK')).toBe('dark');
  });

  it('a filter of fixed values accepts its default even when that is not listed', () => {
    const filter = createParameterFilter({ name: 'TIME', values: ['2026'], defaultValue: 'now' });
    expect(filter.apply('now')).toBe('now');
    expect(filter.values).toEqual(['now', '2026']);
  });

  it('a filter of fixed values shortens a long value and a long list in its message', () => {
    const filter = createParameterFilter({
      name: 'S',
      values: Array.from({ length: 5000 }, (_, i) => `v${i}`),
    });
    expect(refusalOf(() => filter.apply('x'.repeat(1_000_000))).message.length).toBeLessThan(400);
  });
});

describe('a filter by regular expression', () => {
  const filter = createParameterFilter({
    name: 'CQL_FILTER',
    defaultValue: 'INCLUDE',
    regex: '[A-Z_]+ [<>=]+ [0-9]+',
  });

  it('a filter by regular expression must match the whole value', () => {
    expect(filter.apply('TOTPOP > 10000')).toBe('TOTPOP > 10000');
    expect(() => filter.apply('TOTPOP > 10000 OR 1=1')).toThrow(
      'TOTPOP > 10000 OR 1=1 violates filter for parameter CQL_FILTER',
    );
    expect(() => filter.apply('x TOTPOP > 1')).toThrow('violates filter');
  });

  it('a filter by regular expression accepts its default even when that does not match', () => {
    expect(filter.apply('INCLUDE')).toBe('INCLUDE');
    expect(filter.values).toBeNull();
  });

  it('a filter by regular expression matches letters of either case when they are normalised', () => {
    const lower = createParameterFilter({ name: 'P', regex: '[a-z]+', normalize: 'lower' });
    expect(lower.apply('AbC')).toBe('abc');
    expect(() => createParameterFilter({ name: 'P', regex: '[a-z]+' }).apply('AbC')).toThrow('violates');
  });

  it('a filter by regular expression reads no value above 1 KiB', () => {
    const free = anything('P');
    expect(free.apply('a'.repeat(1024))).toHaveLength(1024);
    expect(() => free.apply('a'.repeat(1025))).toThrow('violates filter');
    expect(() => free.apply('ä'.repeat(513))).toThrow('violates filter');
  });

  it.each(['(a+)+', '(a|a)*', '(a|aa)+', '(.*a){20}', '(a*)*', '([a-z]+)*=', '(a?){100}a{100}'])(
    'a filter answers on hostile values for %s',
    (regex) => {
      const hostile = createParameterFilter({ name: 'P', regex });
      expect(() => hostile.apply(`${'a'.repeat(1023)}!`)).toThrow('violates filter');
    },
  );

  it('a filter by regular expression reports what is wrong with an unusable pattern', () => {
    const refused = refusalOf(() => createParameterFilter({ name: 'P', regex: '(' }));
    expect(refused.code).toBe('config-invalid');
    expect(refused.message).toContain('regex of parameter P');
    expect(() => createParameterFilter({ name: 'P', regex: '(a)\\1' })).toThrow('cannot be used');
  });
});

describe('a filter of numbers', () => {
  it('a filter of numbers takes the nearest integer closer than the threshold, and that strictly', () => {
    const filter = createParameterFilter({ name: 'ELEVATION', integers: [0, 100, 200], threshold: 10 });
    expect(filter.apply('100')).toBe('100');
    expect(filter.apply('+109')).toBe('100');
    expect(filter.apply('-9')).toBe('0');
    expect(() => filter.apply('110')).toThrow(
      '110 violates filter for parameter ELEVATION; allowed: 0, 100, 200',
    );
    expect(() => filter.apply('1.5')).toThrow('violates filter');
    expect(() => filter.apply('0x10')).toThrow('violates filter');
    expect(() => filter.apply('NaN')).toThrow('violates filter');
  });

  it('a filter of numbers accepts only listed ones without a threshold', () => {
    const filter = createParameterFilter({ name: 'E', integers: [5] });
    expect(filter.apply('5')).toBe('5');
    expect(() => filter.apply('6')).toThrow('violates filter');
  });

  it('a filter of numbers prints floats as GeoWebCache does, and keeps its default as it is written', () => {
    const filter = createParameterFilter({
      name: 'E',
      floats: [5, 2.5, 7],
      threshold: 0.1,
      defaultValue: '5',
    });
    expect(filter.apply('5')).toBe('5');
    expect(filter.apply('4.95')).toBe('5');
    expect(filter.apply('2.5')).toBe('2.5');
    expect(filter.apply('7')).toBe('7.0');
    expect([filter.defaultValue, filter.values]).toEqual(['5', ['5', '2.5', '7.0']]);
    expect(selectParameters([filter], new Map([['E', '5.00']])).id).toBeNull();
    expect(() => filter.apply('2.4')).toThrow('allowed: 5, 2.5, 7.0');
  });

  it('a float with a default without a point keeps the id that GeoWebCache gives other values', () => {
    const style = createParameterFilter({ name: 'STYLES', defaultValue: 'a', values: ['a', 'pophatch'] });
    const elevation = createParameterFilter({ name: 'ELEVATION', defaultValue: '0', floats: [0, 100] });
    const { id } = selectParameters([style, elevation], new Map([['STYLES', 'pophatch']]));
    expect(id).toBe(
      geoWebCacheIdOf(
        new Map([
          ['ELEVATION', '0'],
          ['STYLES', 'pophatch'],
        ]),
      ),
    );
  });

  it('a filter of numbers keeps the default of integers as it is written', () => {
    const filter = createParameterFilter({ name: 'E', integers: [5, 6], defaultValue: '+5' });
    expect(['5', '005', '6', ''].map(filter.apply)).toEqual(['+5', '+5', '6', '+5']);
  });

  it('a filter of numbers accepts any number when none is listed, and one spelling of each', () => {
    const float = createParameterFilter({ name: 'E', floats: [] });
    expect(['1', '1.00', '+1', '1e0', '.1e1'].map(float.apply)).toEqual(Array(5).fill('1.0'));
    expect(float.apply('1e-7')).toBe('1.0E-7');
    expect(float.apply('33.3333333')).toBe('33.333332');
    expect(float.apply('12345678')).toBe('1.2345678E7');
    expect(() => float.apply('1e39')).toThrow('violates filter');
    expect(float.apply('-0')).toBe('0.0');
    expect(() => float.apply('1e999')).toThrow('violates filter');
    expect(() => float.apply('Infinity')).toThrow('violates filter');
    expect(createParameterFilter({ name: 'E', integers: [] }).apply('007')).toBe('7');
  });
});

describe('a selection of parameters', () => {
  it('a selection of parameters has the id that GeoWebCache gives the same values', () => {
    const selection = selectParameters([styles], new Map([['Styles', 'pophatch']]));
    expect(selection.id).toBe('7510004a12f49fdd49a2ba366e9c4594be7e4358');
    expect(selection.values).toEqual(new Map([['STYLES', 'pophatch']]));
  });

  it('a selection of parameters has no id when all values are defaults, spelled out or not', () => {
    expect(selectParameters([styles], new Map()).id).toBeNull();
    expect(selectParameters([styles], new Map([['STYLES', 'population']])).id).toBeNull();
    expect(selectParameters([], new Map([['STYLES', 'x']]))).toEqual({ id: null, values: new Map() });
  });

  it('a selection of parameters ignores unknown names and completes missing ones', () => {
    const selection = selectParameters(
      [styles, anything('env')],
      new Map([
        ['env', 'a'],
        ['x', 'y'],
      ]),
    );
    expect(selection.values).toEqual(
      new Map([
        ['STYLES', 'population'],
        ['ENV', 'a'],
      ]),
    );
  });

  it('a selection of parameters has one id whatever the order of the filters', () => {
    const given = new Map([
      ['A', '1'],
      ['B', '2'],
    ]);
    const [a, b] = [anything('A'), anything('B')];
    expect(selectParameters([a, b], given).id).toBe(selectParameters([b, a], given).id);
  });

  it('a selection of parameters distinguishes values that look like other parameters', () => {
    const filters = [anything('A'), anything('B')];
    const idOf = (a: string, b: string) =>
      selectParameters(
        filters,
        new Map([
          ['A', a],
          ['B', b],
        ]),
      ).id;
    expect(idOf('1&B=2', '3')).not.toBe(idOf('1', '2&B=3'));
    const one = selectParameters([anything('A')], new Map([['A', '1&B=2']])).id;
    expect(one).not.toBe(idOf('1', '2'));
  });

  it('a selection of parameters refuses text that has no UTF-8 form', () => {
    expect(() => anything('A').apply('\ud800')).toThrow('violates filter');
    expect(anything('A').apply('😀')).toBe('😀');
  });

  it('a selection of parameters never gives two combinations of values one id', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '&', '=', '?', 'A', 'B', '"', ',', '[', ']', '\\') });
    const names = fc.uniqueArray(fc.constantFrom('A', 'B', 'C'), { minLength: 1 });
    const combination = names.chain((chosen) =>
      fc.tuple(...chosen.map((name) => fc.tuple(fc.constant(name), text))).map((pairs) => new Map(pairs)),
    );
    const canonical = (values: Map<string, string>) => JSON.stringify([...values].sort());
    fc.assert(
      fc.property(combination, combination, (one, other) => {
        expect(parametersIdOf(one) === parametersIdOf(other)).toBe(canonical(one) === canonical(other));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a parameter name', () => {
  it('a parameter name is refused when it could be mistaken for something else', () => {
    for (const name of ['', 'A=B', 'A&B', ' A', 'ä', 'x'.repeat(65)]) {
      expect(() => anything(name)).toThrow('must be a letter');
    }
  });
});
