import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createMarkdown } from '../scripts/docs/write-docs.mjs';
import { CHAPTERS, docsAddress } from '../web/src/docs-address.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** As the build has made them. */
const built = join(root, 'dist', 'web', 'docs');

function filesIn(folder: string, pattern: RegExp): readonly string[] {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return paths.map((path) => path.replaceAll('\\', '/')).filter((path) => pattern.test(path));
}

const pages = new Map(
  filesIn(built, /\.html$/).map((path) => [path, readFileSync(join(built, path), 'utf8')] as const),
);
const chapters = filesIn(join(root, 'docs'), /\.md$/).filter((path) => !path.startsWith('decisions/'));

function addressesIn(html: string): readonly string[] {
  return [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address = '']) => address);
}

/** Null when the address leads to a file and a heading that exist. `from`: the page that has it. */
function faultOf(address: string, from: string): string | null {
  const [path = '', anchor] = address.split('#');
  const target =
    path === '' ? from : normalize(join(dirname(from), path)).replace(/(^\.?|\/)$/, '$1index.html');
  if (!existsSync(join(built, target))) return `${from}: ${address} leads to no file`;
  if (anchor === undefined || pages.get(target)?.includes(` id="${anchor}"`)) return null;
  return `${from}: ${address} leads to no heading`;
}

it('a heading with a tag is text in the title and the contents of its page', () => {
  const headings: { text: string }[] = [];
  createMarkdown('a.md', new Set(), headings).parse('# The folder `<data>` & others');
  expect(headings).toMatchObject([{ text: 'The folder &lt;data> & others' }]);
});

describe('the built documentation', () => {
  it('the documentation has a page for every chapter except decision records', () => {
    const expected = chapters.map((path) =>
      path === 'README.md' ? 'index.html' : path.replace(/\.md$/, '.html'),
    );
    expect([...pages.keys()].sort()).toEqual(expected.sort());
    expect(pages.size).toBeGreaterThan(30);
  });

  it('the documentation links only to existing pages, headings and pictures', () => {
    const faults = [...pages].flatMap(([from, html]) =>
      addressesIn(html)
        .filter((address) => !/^https?:/.test(address) && !/^(\.\.\/)+$/.test(address))
        .map((address) => faultOf(address, from)),
    );
    expect(faults.filter((fault) => fault !== null)).toEqual([]);
  });

  it('the first page of the documentation lists every page', () => {
    const listed = addressesIn(pages.get('index.html') ?? '').map((address) => address.split('#')[0]);
    expect([...pages.keys()].filter((path) => path !== 'index.html' && !listed.includes(path))).toEqual([]);
  });

  it('the documentation contains nothing that its content security policy forbids', () => {
    for (const html of pages.values()) expect(html).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+="/);
  });

  it('links of the documentation have no .md in their text', () => {
    for (const html of pages.values()) expect(html).not.toMatch(/\.md<\/a>/);
  });

  it('headings of the documentation have the same anchors as on GitHub', () => {
    expect(pages.get('command-line.html')).toContain('<h2 id="which-server-and-as-whom">');
    expect(pages.get('upstreams.html')).toContain('id="upstreams-limits-and-what-happens-when-they-fail"');
  });
});

it('the architecture pages name only existing files, some for every room', () => {
  const named = ['architecture.md', 'architecture/rooms.md', 'architecture/walks.md'].flatMap((page) => [
    ...readFileSync(join(root, 'docs', page), 'utf8').matchAll(
      /`((?:src|web|test|scripts|packages)\/[^`{}*\s]+\.\w+)`/g,
    ),
  ]);
  const paths = named.map(([, path = '']) => path);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((one) => one.isDirectory());
  expect(rooms.filter(({ name }) => !paths.some((path) => path.startsWith(`src/${name}/`)))).toEqual([]);
});

describe('links of the console to the documentation', () => {
  const sources = filesIn(join(root, 'web', 'src'), /\.tsx?$/).map((path) =>
    readFileSync(join(root, 'web', 'src', path), 'utf8'),
  );
  const written = sources.flatMap((text) =>
    [...text.matchAll(/"(docs\/[^"]*)"/g)].map(([, link = '']) => link),
  );
  const links = new Set([...written, ...Object.keys(CHAPTERS).map(docsAddress), docsAddress('overview')]);

  it.each([...links])('the link %s of the console leads to an existing page and heading', (link) => {
    expect(faultOf(link.replace(/^docs\//, '') || './', 'index.html')).toBeNull();
  });
});
