import { describe, expect, it } from 'vitest';
import { readSeedRequest } from './seed-request.ts';

function parametersOf(json: string): [string, string][] {
  const { parameters } = readSeedRequest(Buffer.from(`{"seedRequest":{"parameters":${json}}}`), 'json', 'x');
  return [...(parameters ?? [])];
}

it('an empty text in place of a seed request is refused in JSON', () => {
  expect(() => readSeedRequest(Buffer.from('{"seedRequest":""}'), 'json', 'x')).toThrow(
    /^seedRequest must not be the text ""/,
  );
});

describe('parameters', () => {
  it.each([
    ['{"entry":[{"string":["A","b"]},{"string":["C","d e"]}]}'],
    ['[{"entry":{"string":["A","b"]}},{"entry":{"string":["C","d e"]}}]'],
    ['{"entry":[["A","b"],["C","d e"]]}'],
    ['{"entry":[{"key":"A","value":"b"},{"key":"C","value":"d e"}]}'],
    ['[["A","b"],["C","d e"]]'],
    ['{"A":"b","C":"d e"}'],
    ['{"@class":"tree-map","entry":[{"string":["A","b"]},{"string":["C","d e"]}]}'],
  ])('parameters are read from %s', (json) => {
    expect(parametersOf(json)).toEqual([
      ['A', 'b'],
      ['C', 'd e'],
    ]);
  });

  it.each([
    ['{"entry":{"string":["A",""]}}', [['A', '']]],
    ['{"entry":{"string":["A"," b "]}}', [['A', ' b ']]],
    ['{"A":12}', [['A', '12']]],
    ['{"entry":"b"}', [['entry', 'b']]],
    ['{"__proto__":"b"}', [['__proto__', 'b']]],
  ])('parameters may also be %s', (json, pairs) => {
    expect(parametersOf(json)).toEqual(pairs);
  });

  it('parameters may be empty in XML: the default combination', () => {
    const body = '<seedRequest><parameters/></seedRequest>';
    expect(readSeedRequest(Buffer.from(body), 'xml', 'x').parameters).toEqual(new Map());
  });

  it.each([
    '"STYLES=x"',
    '""',
    '{"A":"b","a":"c"}',
    '{"entry":[{"string":["A","b"]},{"string":["A","b"]}]}',
    '{}',
    '[]',
    'null',
    '{"A":null}',
    '{"entry":[{"string":["A",null]}]}',
    '{"entry":{"string":"A"}}',
    '{"entry":{"string":["A","b","c"]}}',
    '{"A":{"b":"c"}}',
    '[["A"]]',
  ])('parameters are refused in %s', (json) => {
    expect(() => parametersOf(json)).toThrow(/parameter/);
  });
});
