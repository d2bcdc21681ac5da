import { escapeXml } from '../lib/xml/write-xml.ts';
import type { Response } from './response.ts';

/** Markup that is safe to send as it is. */
export interface Html {
  readonly markup: string;
}

/** The only way to make markup: escapes everything that is not markup already. */
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
