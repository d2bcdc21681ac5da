// Writes docs/**/*.md as HTML pages, which the server serves under /docs/. Decision records are for developers, so they
// are left out.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { Marked } from 'marked';
import { filesUnder, root } from '../steps.mjs';

const source = join(root, 'docs');
const LEFT_OUT = join(source, 'decisions');

export function writeDocs(folder) {
  const files = [...filesUnder(source, (path) => path === LEFT_OUT)].map((file) =>
    slashed(relative(source, file)),
  );
  const pages = new Set(files.filter((file) => file.endsWith('.md')));
  for (const file of files) {
    const target = join(folder, pageName(file));
    mkdirSync(dirname(target), { recursive: true });
    if (pages.has(file)) writeFileSync(target, pageOf(file, pages));
    else cpSync(join(source, file), target);
  }
  cpSync(join(root, 'scripts', 'docs', 'docs.css'), join(folder, 'docs.css'));
  cpSync(join(root, 'web', 'src', 'icon.svg'), join(folder, 'icon.svg'));
}

/** README.md, which code hosts show for a folder, becomes its index page. */
function pageName(file) {
  return file.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');
}

function pageOf(file, pages) {
  const headings = [];
  const body = createMarkdown(file, pages, headings).parse(readFileSync(join(source, file), 'utf8'));
  const title = headings[0]?.text ?? basename(file);
  const up = '../'.repeat(file.split('/').length - 1);
  const first = file === 'README.md';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}${first ? '' : ' – Tilewarden documentation'}</title>
<link rel="icon" href="${up}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${up}docs.css">
</head>
<body>
<header><a href="${up}../">Tilewarden</a> <a href="${up || './'}">Documentation</a></header>
<main>
${withContents(body, headings, first)}</main>
</body>
</html>
`.replaceAll(/<table>|<\/table>/g, (tag) =>
    tag === '<table>' ? '<div class="wide"><table>' : '</table></div>',
  );
}

const MIN_LISTED = 3;

/** Adds a list of the chapters below the title, if there are at least MIN_LISTED. */
function withContents(body, headings, first) {
  const chapters = headings.filter(({ depth }) => depth === 2);
  if (first || chapters.length < MIN_LISTED) return body;
  const items = chapters.map(({ id, text }) => `<li><a href="#${id}">${text}</a></li>`).join('\n');
  return body.replace('</h1>\n', `</h1>\n<nav aria-label="On this page">\n<ul>\n${items}\n</ul>\n</nav>\n`);
}

export function createMarkdown(file, pages, headings) {
  const ids = new Map();
  return new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer);
        const id = anchorOf(text, ids);
        headings.push({ depth, id, text: text.replaceAll('<', '&lt;') });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens).replace(/\.md$/, ''); // `[wms.md](wms.md)` shows "wms".
        const target = targetOf(href, file, pages);
        return target === null ? text : `<a href="${target.replaceAll('&', '&amp;')}">${text}</a>`;
      },
    },
  });
}

/** GitHub's anchor for a heading, so that links work in both places. `ids`: how often each was used on the page. */
function anchorOf(text, ids) {
  const plain = text.replace(/&(?:\w+|#\d+);/g, '');
  const id = plain
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
  const times = ids.get(id) ?? 0;
  ids.set(id, times + 1);
  return times === 0 ? id : `${id}-${times}`;
}

/** Null for anything but a page of the documentation: its link becomes plain text. */
function targetOf(href, file, pages) {
  if (/^(https?:|#)/.test(href)) return href;
  const [path, anchor] = href.split('#');
  const page = slashed(join(dirname(file), path));
  if (!pages.has(page)) return null;
  return `${pageName(path)}${anchor === undefined ? '' : `#${anchor}`}`;
}

function slashed(path) {
  return path.replaceAll('\\', '/');
}
