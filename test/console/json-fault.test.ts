import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFault } from '../../web/src/json-fault.ts';

describe('jsonFault', () => {
  it.each(['{}', '[]', ' {"a": [1, -2.5e3, true, null, "x\\u00e4\\n"], "b": {"c": []}} ', '"text"'])(
    'the JSON %s has no fault',
    (text) => {
      expect(jsonFault(text)).toBeNull();
    },
  );

  it.each([
    ['{\n  "a": 1,\n  "b": ,\n}', 'Invalid JSON at line 3, column 8: unexpected “,”.'],
    ['{"a": 1 "b": 2}', 'Invalid JSON at line 1, column 9: unexpected “"b": 2}”.'],
    ['{"a": [1, ]}', 'Invalid JSON at line 1, column 11: unexpected “]}”.'],
    ['{"a": [1}', 'Invalid JSON at line 1, column 9: unexpected “}”.'],
    ['{a: 1}', 'Invalid JSON at line 1, column 2: unexpected “a: 1}”.'],
    ['{"a": 01}', 'Invalid JSON at line 1, column 7: unexpected “01}”.'],
    ['{"a": 1,\n', 'Invalid JSON at line 2, column 1: the text ends too early.'],
    ['', 'Invalid JSON at line 1, column 1: the text ends too early.'],
    ['{} {}', 'Invalid JSON at line 1, column 4: unexpected “{}”.'],
  ])('jsonFault names the place where %j stops being JSON', (text, fault) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(jsonFault(text)).toBe(fault);
  });

  it('jsonFault reports a fault for exactly the texts that JSON.parse rejects', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '-0.5e+2',
      '01',
      'true',
      'TRUE',
      'null',
      ' ',
      '\u00a0',
      '"\\x"',
      '"\u0007"',
      '"\u0080"',
    ];
    const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(texts, fc.json()), (text) => {
        expect(jsonFault(text) === null).toBe(isJson(text));
      }),
      { numRuns: 2000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
