import { createHash } from 'node:crypto';
import { escapeXml } from '../lib/xml/write-xml.ts';
import { pairs, type Response } from './response.ts';

/** `copying`: addresses on the page have a button that copies them. */
export type PageWriter = (page: {
  readonly title: string;
  readonly body: Html;
  readonly copying?: boolean;
}) => Response;

/**
 * Self-contained pages with inline style and script. The policy names both by their hash, so that nothing else runs,
 * whatever the name of a layer contains.
 */
export function createPageWriter(): PageWriter {
  const style: Html = { markup: `<style>${PAGE_STYLE}</style>` };
  const script: Html = { markup: `<script type="module">${COPY_SCRIPT}</script>` };
  const headers = pairs({
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policyOf(hashOf(PAGE_STYLE), hashOf(COPY_SCRIPT)),
    'Referrer-Policy': 'no-referrer',
  });
  return ({ title, body, copying = false }) => ({
    status: 200,
    headers,
    body: html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${title} · Tilewarden</title>
${style}
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
${copying ? script : EMPTY}
</body>
</html>
`.markup,
  });
}

function policyOf(style: string, script: string): string {
  return [
    "default-src 'none'",
    `style-src ${style}`,
    `script-src ${script}`,
    "img-src 'self' data:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/** Adds a button to every address; without scripts only the buttons are missing. */
const COPY_SCRIPT = `
for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  block.after(button);
}
`;

/** Follows the colour scheme of the client's system. */
const PAGE_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5dbe0, #3a444d); --soft: light-dark(#f3f5f7, #1d242a); --link: light-dark(#0b5cad, #7db8f0); }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #14191d); color: light-dark(#1b2329, #e4e9ed); }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
a { color: var(--link); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 0; padding: .75rem 1rem; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; font: 13px/1.5 ui-monospace, monospace; }
pre + button { margin: .25rem 0 .75rem; font: inherit; font-size: .85rem; padding: .15rem .75rem; }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
small { color: light-dark(#55626c, #a3b0ba); }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
img.preview { display: block; max-width: 100%; margin: 1rem 0; border: 1px solid var(--line); border-radius: 6px; }
`;

/** HTML or XML that is safe to send as it is. Writers of XML import it as `Markup`. */
export interface Html {
  readonly markup: string;
}

/** Markup with values, which are escaped unless they are markup themselves. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[])[]
): Html {
  const markup = parts.map((part, i) => part + markupOf(values[i] ?? '')).join('');
  return { markup };
}

export const EMPTY: Html = { markup: '' };

/** `<name>text</name>`, or nothing when there is no text. */
export function tagged(name: string, text: string | null): Html {
  const tag: Html = { markup: name };
  return text === null ? EMPTY : html`<${tag}>${text}</${tag}>`;
}

/** A bare page, as GeoWebCache's response to its forms; pages for people have the style of `createPageWriter`. */
export function pageResponse(title: string, body: Html): Response {
  const page = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>
`;
  return { status: 200, headers: ['Content-Type', 'text/html; charset=utf-8'], body: page.markup };
}

function markupOf(value: string | number | Html | readonly Html[]): string {
  if (typeof value === 'string' || typeof value === 'number') return escapeXml(String(value));
  return 'markup' in value ? value.markup : value.map((item) => item.markup).join('\n');
}
