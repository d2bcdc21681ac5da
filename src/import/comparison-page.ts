import { escapeXml } from '../lib/xml/write-xml.ts';
import {
  type Comparison,
  headerDifferences,
  type NoResponse,
  type ServerResponse,
  VERDICTS,
} from './compare-responses.ts';

const MAX_HEADERS = 20;

const STYLE = `body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; color: #1b1f24 }
table { border-collapse: collapse } td, th { padding: .3rem .8rem; text-align: left; vertical-align: top; border-bottom: 1px solid #d5dae0 }
code { overflow-wrap: anywhere } img { display: block; max-width: 26vw; border: 1px solid #d5dae0;
background: repeating-conic-gradient(#eceff2 0 25%, #fff 0 50%) 0 0 / 16px 16px } figure { margin: 0 }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem } section { margin: 2rem 0 }`;

interface Compared {
  readonly old: string;
  readonly new: string;
  readonly tolerance: number;
  readonly comparisons: readonly Comparison[];
}

/** One page without external references: counts, headers, and the pictures of every row that is not `same`. */
export function comparisonPage({ old, new: fresh, tolerance, comparisons }: Compared): string {
  const rows = comparisons
    .filter(({ verdict }) => verdict !== 'same')
    .map((row) => {
      const marked = row.marked === null ? '' : picture('difference', 'image/png', row.marked);
      return `<section><h2>${row.verdict}</h2><p><code>${escapeXml(row.address)}</code><br>${escapeXml(row.reasons.join('; '))}</p>
<div class="pictures">${shown('old', row.old)}${shown('new', row.new)}${marked}</div></section>`;
    });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Comparison of two servers</title><style>${STYLE}</style>
<h1>Comparison of two servers</h1><p>Old: <code>${escapeXml(old)}</code><br>New: <code>${escapeXml(fresh)}</code><br>Tolerance: ${tolerance} of 255</p>
${tableOf(
  ['result', 'requests'],
  VERDICTS.map((verdict) => [verdict, String(countOf(comparisons, verdict))]),
)}
${headersTable(comparisons)}${rows.join('\n')}</html>
`;
}

function shown(title: string, response: ServerResponse | NoResponse): string {
  if (typeof response === 'string') return figure(title, escapeXml(response));
  const type = response.headers.get('content-type') ?? '';
  return /^image\/[\w.+-]+$/.test(type) && response.bytes.length > 0
    ? picture(title, type, response.bytes)
    : figure(title, escapeXml(`${response.status} ${type}`));
}

function picture(title: string, type: string, bytes: Buffer): string {
  return figure(title, `<img alt="${title}" src="data:${type};base64,${bytes.toString('base64')}">`);
}

function figure(title: string, content: string): string {
  return `<figure><figcaption>${title}</figcaption>${content}</figure>`;
}

function headersTable(comparisons: readonly Comparison[]): string {
  const rows = headerDifferences(comparisons)
    .slice(0, MAX_HEADERS)
    .map(({ header, count }) => [...header, String(count)]);
  return rows.length === 0 ? '' : tableOf(['header', 'old', 'new', 'requests'], rows);
}

function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (name: string, texts: readonly string[]) =>
    `<tr>${texts.map((text) => `<${name}>${escapeXml(text)}</${name}>`).join('')}</tr>`;
  return `<table>${cells('th', headings)}${rows.map((row) => cells('td', row)).join('')}</table>`;
}

export function countOf(comparisons: readonly Comparison[], verdict: Comparison['verdict']): number {
  return comparisons.filter((one) => one.verdict === verdict).length;
}
