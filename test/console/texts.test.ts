import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { fill } from '../../web/src/format.ts';
import { ownTexts, type TextUse, textUses } from './text-uses.ts';

const web = fileURLToPath(new URL('../../web', import.meta.url));
const NAMES = [
  'Proxy Tilewarden Node.js Gridset WMS WMTS MBTiles PMTiles GeoPackage Seed Reseed Truncate a,b,c',
  'd h min s B KiB MiB GiB TiB PiB N S E W',
].join(' ');
/** Texts that are the same in English, without their spaces. */
const SAME = {
  de: `${NAMES} Name Version Format Layer Parameter Position Live Quota Export Threads Tokens Upstream Upstreams West Limits Median Feeds Purge in{time} CRS Seed… {tiles}in{time}:{rate}.`,
  fr: `${NAMES} Documentation Menu Position Console Action Quota Type Source Format Formats Expression Style Styles Version Export Exports Threads Minute minute zoom{zoom} minutes Licence Purge Notification Zooms Public Sessions`,
  es: `${NAMES} no Tokens Roles zoom{zoom}`,
};

/** Every text of a locale under its path, e.g. `nav.layers`, or `overview.tiles.one` for the form of a plural. */
function entriesOf(table: unknown, path = ''): readonly (readonly [path: string, text: string])[] {
  if (typeof table === 'string') return [[path, table]];
  return Object.entries(table as object).flatMap(([name, part]) =>
    entriesOf(part, path === '' ? name : `${path}\t${name}`),
  );
}

const localeOf = (language: string) =>
  new Map(entriesOf(JSON.parse(readFileSync(join(web, 'locales', `${language}.json`), 'utf8'))));
const placeholders = (text = '') => [...new Set(text.match(/\{\w+\}/g))].sort();
const ENGLISH = localeOf('en');
const KEYS = [...ENGLISH].map((entry) => [entry[0].split('\t'), entry] as const);

describe.each(Object.entries(SAME))('web/locales/%s.json', (language, same) => {
  const translated = localeOf(language);

  it('a translation has every key of en.json in the same order, and no other', () => {
    expect([...translated.keys()]).toEqual([...ENGLISH.keys()]);
  });

  it('a translation has the placeholders of en.json in every text', () => {
    for (const [path, text] of translated)
      expect([path, ...placeholders(text)]).toEqual([path, ...placeholders(ENGLISH.get(path))]);
  });

  it('a translation has no text that was left in English', () => {
    const known = new Set(same.split(' '));
    const left = [...translated.values()].filter(
      (text, place) =>
        /\p{L}/u.test(text.replaceAll(/\{\w+\}/g, '')) && text === [...ENGLISH.values()][place],
    );
    expect(left.filter((text) => !known.has(text.replaceAll(/\s/g, '')))).toEqual([]);
  });
});

describe('web/src', () => {
  const folder = join(web, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) =>
      ts.createSourceFile(
        name,
        readFileSync(join(folder, name), 'utf8'),
        ts.ScriptTarget.Latest,
        true,
        ts.ScriptKind.TSX,
      ),
    );
  const uses = files.flatMap(textUses);
  const textsOf = ({ path }: TextUse) =>
    KEYS.filter(([names]) => names.every((name, place) => (path[place] ?? name) === name)).map(
      ([, entry]) => entry,
    );

  it('the console takes every visible text from the locales', () => {
    expect(files.flatMap(ownTexts)).toEqual([]);
  });

  it('the console uses every text of en.json', () => {
    const used = new Set(uses.flatMap(textsOf).map(([path]) => path));
    expect([...ENGLISH.keys()].filter((path) => !used.has(path))).toEqual([]);
  });

  it('the console gives every text the values for its placeholders', () => {
    const faults = uses.flatMap((use) => {
      const texts = textsOf(use);
      const wanted = new Set(texts.flatMap(([, text]) => placeholders(text)));
      const isPlural = texts.some(([path]) => path.endsWith('\tother'));
      const given = use.values?.map((name) => `{${name}}`) ?? [];
      const missing = use.values === null ? [] : [...wanted].filter((name) => !given.includes(name));
      const extra = given.filter((name) => !wanted.has(name) && !(isPlural && name === '{count}'));
      return missing.length + extra.length === 0
        ? []
        : [`${use.file}: ${use.path.join('.')} ${missing} ${extra}`];
    });
    expect(faults).toEqual([]);
  });
});

it('fill chooses the form of a plural by its count, and formats the count', () => {
  const tiles = { one: '{count} tile of {layer}', other: '{count} tiles of {layer}' };
  expect([0, 1, 12_345].map((count) => fill(tiles, { count, layer: '$& {count}' }))).toEqual([
    '0 tiles of $& {count}',
    '1 tile of $& {count}',
    '12,345 tiles of $& {count}',
  ]);
});

it('a French text never ends a line before a mark such as ; or :', () => {
  const broken = [...localeOf('fr')].filter(([, text]) => / [;:?!»]|« /.test(text));
  expect(broken).toEqual([]);
});
