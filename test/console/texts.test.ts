import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import GERMAN from '../../web/src/texts/de/index.ts';
import SPANISH from '../../web/src/texts/es/index.ts';
import FRENCH from '../../web/src/texts/fr/index.ts';
import { ENGLISH } from '../../web/src/texts.ts';

const NAMES = [
  'Proxy Tilewarden Node.js Gridset WMS WMTS MBTiles PMTiles GeoPackage Seed Reseed Truncate a,b,c',
  'd h min s B KiB MiB GiB TiB PiB N S E W z1–2 1/s 1:2',
].join(' ');
/** Texts that are the same in English, without their spaces. */
const SAME = {
  German: [
    GERMAN,
    `${NAMES} Name Version Format Layer Parameter Position Live Quota Export Threads Tokens Upstream Upstreams West Limits Median Seed… Feeds Purge in1 CRS`,
  ],
  French: [
    FRENCH,
    `${NAMES} Documentation Menu Position Console Action Quota Type Source Format Formats Expression Style Styles Version Export Exports Threads Minute minute zoom1 minutes Licence Purge Notification Zooms Public Sessions`,
  ],
  Spanish: [SPANISH, `${NAMES} no Tokens Roles zoom1`],
} as const;

type Entry = readonly [path: string, text: unknown];

/** Every text of a table under its path, e.g. `nav.layers`. */
function entriesOf(table: unknown, path = ''): readonly Entry[] {
  if (typeof table !== 'object' || table === null) return [[path, table]];
  return Object.entries(table).flatMap(([name, part]) =>
    entriesOf(part, path === '' ? name : `${path}.${name}`),
  );
}

/** A text, or what a function makes of values that can be found in it. */
function sample(path: string, text: unknown): string {
  if (typeof text !== 'function') return String(text);
  if (path === 'tasks.stopCount') return text({ running: 11, pending: 12, paused: 13 });
  if (path.startsWith('audit.actions')) return text({ type: 'seed', task: 11, tiles: 12 }, {});
  return text(11, 12, 13, 14);
}

describe.each(Object.entries(SAME))('the console in %s', (language, [table, same]) => {
  const translated = new Map(entriesOf(table));

  it(`the ${language} translation has every text of the English table, and no other`, () => {
    expect([...translated.keys()].sort()).toEqual(
      entriesOf(ENGLISH)
        .map(([path]) => path)
        .sort(),
    );
  });

  it(`the ${language} translation has no text that was left in English`, () => {
    const known = new Set(same.split(' '));
    const left = entriesOf(ENGLISH).flatMap(([path, text]) => {
      const words = sample(path, text);
      const isSame = /\p{L}/u.test(words) && words === sample(path, translated.get(path));
      return isSame ? [words.replaceAll(/\s/g, '').replace('11', '1').replace('12', '2')] : [];
    });
    expect(left.filter((words) => !known.has(words))).toEqual([]);
  });

  it(`the ${language} translation puts the same values into its sentences`, () => {
    const values = (text: string) => [...new Set(text.match(/\d+/g))].sort();
    for (const [path, text] of entriesOf(ENGLISH))
      expect([path, ...values(sample(path, translated.get(path)))]).toEqual([
        path,
        ...values(sample(path, text)),
      ]);
  });
});

describe('the pages of the console', () => {
  it('the pages of the console take every visible text from the tables', () => {
    const folder = fileURLToPath(new URL('../../web/src', import.meta.url));
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.tsx'),
    );
    expect(files.flatMap((name) => ownTexts(name, readFileSync(join(folder, name), 'utf8')))).toEqual([]);
  });
});

const SPOKEN = /^(aria-label|label|title|alt|placeholder|text|verb|help)$/;
const EXAMPLES = [
  'https://maps.example.org/wms',
  '+proj=utm +zone=32 +ellps=GRS80 +units=m',
  ' ms',
  ' ms · ',
];

/** Words in JSX that are written there: between elements, or in an attribute that is shown or read out. */
function ownTexts(name: string, source: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node, spoken: boolean): void => {
    const inside = isElement(node) || (spoken && !ts.isCallExpression(node) && !isComparison(node));
    const text = ts.isJsxText(node) || ts.isStringLiteralLike(node) || isTemplatePart(node) ? node.text : '';
    if (inside && /\p{L}{2}/u.test(text) && !EXAMPLES.includes(text)) found.push(`${name}: ${text.trim()}`);
    ts.forEachChild(node, (child) =>
      visit(
        child,
        ts.isJsxAttribute(child)
          ? SPOKEN.test(child.name.getText())
          : inside && !ts.isJsxOpeningLikeElement(child),
      ),
    );
  };
  visit(ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX), false);
  return found;
}

function isElement(node: ts.Node): boolean {
  return ts.isJsxElement(node) || ts.isJsxFragment(node);
}

function isTemplatePart(node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

function isComparison(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && /^[=!]==$/.test(node.operatorToken.getText());
}
