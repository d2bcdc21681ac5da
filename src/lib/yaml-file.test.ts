import { describe, expect, it } from 'vitest';
import { parseYamlFile, writeSettingsFile } from './yaml-file.ts';

const TEXT = `# a comment
server:
  # another
  port: 80
stores: &all { default: { type: bundle }, other: {} }
again: *all
layers:
- name: a
  formats: [ image/png, x ]
- {name: b, a, c: "d: e"}
-
  - nested
empty:
text: |
  name: no key
"quoted key": 1
`;

describe('a YAML file', () => {
  const file = parseYamlFile('t.yaml', TEXT);

  it.each([
    [['server'], '4:3'],
    [['server', 'port'], '4:9'],
    [['stores', 'default', 'type'], '5:33'],
    [['layers', 0, 'name'], '8:9'],
    [['layers', 0, 'formats', 1], '9:25'],
    [['layers', 1], '10:3'],
    [['layers', 1, 'c'], '10:19'],
    [['layers', 2, 0], '12:5'],
    [['quoted key'], '16:15'],
    [['empty'], '13:1'],
    [['layers', 0, 'missing', 'deeper'], '8:3'],
    [[], '2:1'],
  ])('a YAML file locates %j', (path, place) => {
    expect(file.placeOf(path)).toBe(`t.yaml:${place}`);
  });

  it('a YAML file locates keys', () => {
    expect(file.placeOfKey([], 'layers')).toBe('t.yaml:7:1');
    expect(file.placeOfKey(['layers', 1], 'a')).toBe('t.yaml:10:13');
    expect(file.placeOfKey(['server'], 'missing')).toBe('t.yaml:4:3');
  });

  it('a YAML file keeps the zeros of a telephone number, and reads other numbers', () => {
    const { value } = parseYamlFile('t.yaml', 'a: [0123, 00, -07, 0, -12, 0x1F, 0o17, 1.50, 0.5, 1e3]');
    expect(value).toEqual({ a: ['0123', '00', '-07', 0, -12, 31, 15, 1.5, 0.5, 1000] });
    expect(parseYamlFile('t.yaml', writeSettingsFile({ a: '0123', b: 7 })).value).toEqual({
      a: '0123',
      b: 7,
    });
  });

  it('a YAML file that multiplies itself by aliases is refused', () => {
    const levels = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(9)}]`);
    const problems = ['t.yaml  has more than 100000 values by its aliases'];
    expect(parseYamlFile('t.yaml', ['a0: &a0 1', ...levels].join('\n')).problems).toEqual(problems);
    expect(parseYamlFile('t.yaml', 'a: &a [*a]').problems).toEqual(problems);
  });

  it('a YAML file may have any number of schedules, whose stars are not aliases', () => {
    const crons = `a: &a 1\nb: [${"'*/5 */2 1 1 *', ".repeat(200)}]`;
    expect(parseYamlFile('t.yaml', crons).problems).toEqual([]);
  });
});
