import { type Html, html } from '../../answer/html.ts';
import type { OgcLink } from './ogc-link.ts';

const NOTHING = html``;

/** Any of our JSON documents as markup: nothing is in the one that is not in the other. */
export function describeInHtml(content: object): Html {
  const { links, ...rest } = content as { readonly links?: readonly OgcLink[] };
  return html`${describeMembers(rest)}
${links ? html`<h2>Links</h2>${linkList(links)}` : NOTHING}`;
}

function describeMembers(content: object): Html {
  const members = Object.entries(content).filter(([, value]) => value !== undefined);
  return html`<dl>
${members.map(([name, value]) => html`<dt>${name}</dt><dd>${describeValue(name, value)}</dd>`)}
</dl>`;
}

function describeValue(name: string, value: unknown): Html {
  if (name === 'links' && Array.isArray(value)) return linkList(value as readonly OgcLink[]);
  if (Array.isArray(value)) return describeList(value);
  if (typeof value === 'object' && value !== null) return describeMembers(value);
  return html`${String(value)}`;
}

function describeList(values: readonly unknown[]): Html {
  if (!values.some((value) => typeof value === 'object')) return html`${values.join(', ')}`;
  if (values.every((value) => isFlat(value))) return table(values as readonly object[]);
  return html`<ol>
${values.map((value) => html`<li>${describeValue('', value)}</li>`)}
</ol>`;
}

/** An object of plain values: a line of a table. */
function isFlat(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((inner) => typeof inner !== 'object' || isPlainList(inner));
}

function isPlainList(value: unknown): boolean {
  return Array.isArray(value) && !value.some((inner) => typeof inner === 'object');
}

function table(rows: readonly object[]): Html {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return html`<table>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => tableRow(row as Readonly<Record<string, unknown>>, columns))}
</tbody>
</table>`;
}

function tableRow(row: Readonly<Record<string, unknown>>, columns: readonly string[]): Html {
  return html`<tr>${columns.map((column) => html`<td>${describeValue(column, row[column] ?? '')}</td>`)}</tr>`;
}

function linkList(links: readonly OgcLink[]): Html {
  return html`<ul>
${links.map((link) => html`<li>${linkItem(link)}</li>`)}
</ul>`;
}

/** A template is no address: who follows it gets nowhere. */
function linkItem({ href, rel, type = '', title = rel, templated }: OgcLink): Html {
  const kind = html` <small>${type}</small>`;
  if (templated) return html`${title}: <code>${href}</code>${kind}`;
  return html`<a href="${href}" rel="${rel}">${title}</a>${kind}`;
}
