import { createHash } from 'node:crypto';
import { type Html, html } from '../answer/html.ts';
import type { Answer } from '../answer.ts';
import { COPY_SCRIPT } from './copy-script.ts';
import { PAGE_STYLE } from './page-style.ts';

export interface Page {
  readonly title: string;
  /** What follows the heading. */
  readonly body: Html;
  /** Addresses on it have a button that copies them. */
  readonly copying?: boolean;
}

export type PageWriter = (page: Page) => Answer;

const NOTHING = html``;

/**
 * Pages that are complete in themselves: style and script stand in them, and the policy names these by their hash,
 * so nothing else is ever run, whatever the name of a layer holds.
 */
export function createPageWriter(): PageWriter {
  const style: Html = { markup: `<style>${PAGE_STYLE}</style>` };
  const script: Html = { markup: `<script type="module">${COPY_SCRIPT}</script>` };
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Security-Policy',
    policyOf(hashOf(PAGE_STYLE), hashOf(COPY_SCRIPT)),
    'Referrer-Policy',
    'no-referrer',
  ];
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
${copying ? script : NOTHING}
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
