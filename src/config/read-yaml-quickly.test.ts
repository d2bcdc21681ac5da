import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { readYamlQuickly } from './read-yaml-quickly.ts';

describe('the quick reader of YAML', () => {
  it.each([
    'a: [1, 0x1f, 0o17, 012, 1.5, 1., .5, 1e3, -5, +7, .inf, -.Inf]',
    'a: [true, True, yes, no, on, null, ~, Null, "", 2001-01-01, 12:30:45, 1:2]',
    'a:\nb: ~\nc: ""\n"d": x # comment\n900913: EPSG:3857',
    'text: |\n  two\n  lines\nfolded: >-\n  one\n  line\n',
    "q: 'it''s'\nr: \"a\\tb\\u263a\"\ns: plain 'quoted' text",
    'list:\n- a\n-   - b\n    - c\n- { d: e, f: [g, h] }',
    'url: http://h/a?b=c&d=e*f!g\ntitle: Land & sea * 2 !',
    'names: [roads_2020_01, 2020_a]',
    '__proto__: { a: 1 }\nconstructor: 2',
    '',
    '# nothing',
  ])('reads %j as the thorough one does', (text) => {
    expect(readYamlQuickly(text)?.value ?? null).toEqual(parse(text));
  });

  // Minus zero becomes zero, which means the same to every setting.
  it('reads whatever can be written as the thorough one does', () => {
    const scalars = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true }).map((number) => number + 0),
      fc.boolean(),
      fc.constant(null),
    );
    const trees = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        scalars,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('tree'), { maxKeys: 4 }),
      ),
    })).tree;
    fc.assert(
      fc.property(trees, (tree) => {
        const text = stringify(tree, { aliasDuplicateObjects: false });
        const quick = readYamlQuickly(text);
        if (quick) expect(quick.value ?? null).toEqual(parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['an anchor', 'a: &x 1\nb: *x'],
    ['a tag', 'a: !!str 1'],
    ['a number with underscores', 'port: 8_080'],
    ['a number in base two', 'port: 0b11'],
    ['a directive', '%YAML 1.1\n---\na: yes'],
    ['a key that is there twice', 'a: 1\na: 2'],
    ['two documents', 'a: 1\n---\nb: 2'],
    ['a fault', 'a: [1'],
  ])('leaves %s to the thorough one', (_what, text) => {
    expect(readYamlQuickly(text)).toBeNull();
  });
});
