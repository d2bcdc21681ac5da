import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inLength } from '../../test/fixtures/length.ts';
import { isTilewardenError } from '../domain/errors.ts';
import { readJson } from './read-document.ts';
import type { WireElement } from './wire-element.ts';

/** A document's shape without places: names, texts, children. */
function shapeOf({ name, text, children, nothing }: WireElement): unknown {
  return children.length > 0 ? [name, children.map(shapeOf)] : [name, text, ...(nothing ? [nothing] : [])];
}

/** What `readJson` makes of a value, written down a second time in the simplest way. */
function shapesOfValue(name: string, value: unknown): unknown[] {
  if (value === null) return [[name, '', 'null']];
  if (Array.isArray(value) && value.length === 0) return [[name, '', 'an empty list']];
  if (Array.isArray(value)) return value.flatMap((item) => shapesOfItem(name, item));
  if (typeof value !== 'object') return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
  const fields = Object.entries(value as object).flatMap(([key, field]) => shapesOfValue(key, field));
  return fields.length > 0 ? [[name, fields]] : [[name, '', 'an empty object']];
}

function shapesOfItem(name: string, item: unknown): unknown[] {
  if (!Array.isArray(item)) return shapesOfValue(name, item);
  return [[name, shapesOfValue('', item)]];
}

describe('reading JSON', () => {
  it('reading JSON accepts all that JSON.parse does, with the same result', () => {
    const documents = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }), {
      maxKeys: 5,
    });
    fc.assert(
      fc.property(documents, fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        // The most tokens that are read.
        fc.pre(text.length < 4000);
        expect([shapeOf(readJson(text))]).toEqual(shapesOfValue('', JSON.parse(text)));
      }),
    );
  });

  it.each([
    ["{'a':'b\"c'}", [['a', 'b"c']]],
    [
      '{a:1,b_c:2,}',
      [
        ['a', '1'],
        ['b_c', '2'],
      ],
    ],
    [
      '{"a":[1,2,],}',
      [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
    ['{"a":1}}', [['a', '1']]],
    ['\ufeff{"a":1} \n } \n', [['a', '1']]],
    [String.raw`{"a":"image\/png ü 😀 \n"}`, [['a', 'image/png ü 😀 \n']]],
    [
      '{"a":9007199254740993,"b":1.50}',
      [
        ['a', '9007199254740993'],
        ['b', '1.50'],
      ],
    ],
    [
      '{"__proto__":{"x":1},"constructor":"y"}',
      [
        ['__proto__', [['x', '1']]],
        ['constructor', 'y'],
      ],
    ],
    [
      '{"a":null,"b":true}',
      [
        ['a', '', 'null'],
        ['b', 'true'],
      ],
    ],
    [
      '{value:100,units:MiB}',
      [
        ['value', '100'],
        ['units', 'MiB'],
      ],
    ],
    [
      '{gridSetId:EPSG:4326,format:image/png,nullable:[null,ne:nulls]}',
      [
        ['gridSetId', 'EPSG:4326'],
        ['format', 'image/png'],
        ['nullable', '', 'null'],
        ['nullable', 'ne:nulls'],
      ],
    ],
  ])('reading JSON accepts %s', (text, fields) => {
    expect(shapeOf(readJson(text))).toEqual(['', fields]);
  });

  it.each([
    ['', 1, 1],
    ['[]', 1, 1],
    ['null', 1, 1],
    ['{"a":1', 1, 7],
    ['{"a":1}}}', 1, 9],
    ['{"a":1} x', 1, 9],
    ['{\n "a": -,\n,}', 3, 1],
    ['{a:b c}', 1, 6],
    ['{"a":"b\nc"}', 2, 1],
    ['{"a":"\\x"}', 1, 6],
    ['{"a":"\\u12g4"}', 1, 6],
    ['{"a" 1}', 1, 6],
    ['{,}', 1, 2],
    ['{"a":1,,}', 1, 8],
  ])('reading JSON refuses %j and says where', (text, line, column) => {
    expect(() => readJson(text)).toThrow(`(line ${line}, column ${column})`);
  });

  it('reading JSON refuses a body that is deeper or larger than allowed', () => {
    expect(() => readJson(`${'{"a":'.repeat(21)}1${'}'.repeat(21)}`)).toThrow('20 levels deep');
    expect(() => readJson(`{"a":${'['.repeat(60_000)}`)).toThrow('20 levels deep');
    expect(() => readJson(`{"a":[${'1,'.repeat(2001)}]}`)).toThrow('more than 4000 tokens');
  });

  it('reading JSON never fails without a place, and never hangs', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"',
      "'",
      'a',
      '1',
      '\\',
      'null',
      ' ',
      '\n',
      '\u0000',
      'é',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        try {
          readJson(parts.join(''));
        } catch (error) {
          expect(isTilewardenError(error, 'request-invalid')).toBe(true);
        }
      }),
      { numRuns: inLength(300, 20_000) },
    );
  });
});
