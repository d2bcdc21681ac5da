import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { invalid, isTilewardenError, shortened } from '../../../domain/errors.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { Logger } from '../../../lib/logger.ts';
import { writeJson } from '../../../lib/write-json.ts';
import { carryKey } from '../../auth/reader-key.ts';
import { CallerGone, type Context } from '../../context.ts';
import { chooseMediaType, validated } from '../../negotiate.ts';
import { EMPTY, type Html, html, type PageWriter } from '../../page.ts';
import { HttpProblem } from '../../problems.ts';
import type { Response } from '../../response.ts';
import { type Handler, recovering } from '../../route.ts';
import { reportOf } from '../service-exception.ts';

export interface OgcDocument {
  readonly title: string;
  readonly content: object;
  /** The media type of the JSON form, if it has its own. */
  readonly jsonType?: string;
  /** The content depends on the caller. */
  readonly personal: boolean;
  /** The layers that its addresses lead to. */
  readonly layers?: readonly Layer[];
}

/** JSON or HTML by `f` or `Accept`, with a validator. */
export function createDocumentResponder(page: PageWriter) {
  return (context: Context, document: OgcDocument): Response => {
    const type = requestedType(context);
    const etagOf = (body: string) => `"${createHash('sha1').update(body).digest('base64url')}"`;
    const lifetime = document.personal ? 'private, no-cache' : 'no-cache';
    const freshness = ['Cache-Control', lifetime, 'Vary', 'Accept'];
    if (type !== HTML_TYPE) {
      const body = carryKey(context, writeJson(document.content), document.layers ?? [], '&');
      return validated(context, etagOf(body), freshness, { body, type: document.jsonType ?? JSON_TYPE });
    }
    const shown = page({ title: document.title, body: describeInHtml(document.content) });
    const [, pageType = HTML_TYPE, ...policies] = shown.headers;
    const body = carryKey(context, String(shown.body), document.layers ?? [], '&amp;');
    return validated(context, etagOf(body), [...freshness, ...policies], { body, type: pageType });
  };
}

/** `f` takes precedence over `Accept`: a user typed it. */
function requestedType(context: Context): typeof JSON_TYPE | typeof HTML_TYPE {
  const name = formatParameter(context);
  if (name === null) return typeAccepted(context);
  if (name === 'json' || name === JSON_TYPE) return JSON_TYPE;
  if (name === 'html' || name === HTML_TYPE) return HTML_TYPE;
  throw invalid(`f must be json or html, not ${shortened(name)}.`);
}

/** Null when missing. */
export function formatParameter(context: Context): string | null {
  if (context.query === '') return null;
  const values = new Set(new URLSearchParams(context.query).getAll('f'));
  if (values.size > 1) throw invalid('The parameter f is given twice.');
  const [name = ''] = values;
  return name === '' ? null : name;
}

function typeAccepted(context: Context): typeof JSON_TYPE | typeof HTML_TYPE {
  const type = chooseMediaType(context.headers.accept, [JSON_TYPE, HTML_TYPE]);
  if (type) return type;
  throw new HttpProblem('not-acceptable', `There is ${JSON_TYPE} and ${HTML_TYPE}.`, ['Vary', 'Accept']);
}

/** A link of RFC 8288 in the JSON form of OGC APIs. */
export interface OgcLink {
  readonly href: string;
  readonly rel: string;
  readonly type?: string;
  readonly title?: string;
  /** The address has variables in braces. */
  readonly templated?: true;
}

const JSON_TYPE = 'application/json';
export const HTML_TYPE = 'text/html';

const OGC_RELATION = 'http://www.opengis.net/def/rel/ogc/1.0/';

/** The full name of a relation that the OGC has registered, e.g. `tiling-scheme`. */
export function ogcRelation(name: string): string {
  return `${OGC_RELATION}${name}`;
}

export function jsonLink(href: string, rel: string, title: string): OgcLink {
  return { href, rel, type: JSON_TYPE, title };
}

/** The document in both forms. Without `f`, clients that do not accept HTML get JSON. */
export function selfLinks(href: string): readonly OgcLink[] {
  const query = href.includes('?') ? '&' : '?';
  return [
    { href, rel: 'self', type: JSON_TYPE, title: 'This document' },
    { href: `${href}${query}f=html`, rel: 'alternate', type: HTML_TYPE, title: 'This document as HTML' },
  ];
}

/** RFC 3986, 3.3: a colon is allowed in a path, and clients search URLs for names such as `EPSG:4326`. */
export function pathPart(name: string): string {
  return encodeURIComponent(name).replaceAll('%3A', ':');
}

/** Any JSON document as markup, with the same content. */
function describeInHtml(content: object): Html {
  const { links, ...rest } = content as { readonly links?: readonly OgcLink[] };
  return html`${describeMembers(rest)}
${links ? html`<h2>Links</h2>${linkList(links)}` : EMPTY}`;
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

/** Whether it is an object of plain values or lists of them: a row of a table. */
function isFlat(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value)
    .flat()
    .every((inner) => typeof inner !== 'object');
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

/** A template is not an address, so it is not shown as a link. */
function linkItem({ href, rel, type = '', title = rel, templated }: OgcLink): Html {
  const kind = html` <small>${type}</small>`;
  if (templated) return html`${title}: <code>${href}</code>${kind}`;
  return html`<a href="${href}" rel="${rel}">${title}</a>${kind}`;
}

/** Failures of `handler` are RFC 9457 problems. */
export function withProblemDetails(handler: Handler, log: Logger): Handler {
  return recovering(handler, (error, context) => {
    if (error instanceof CallerGone) throw error;
    const { status, message, headers } = reportOf(asPathProblem(error), context, log);
    const title = STATUS_CODES[status] ?? 'Error';
    return {
      status,
      headers: ['Content-Type', 'application/problem+json', ...headers],
      body: `${writeJson({ type: 'about:blank', title, status, detail: message })}\n`,
    };
  });
}

/** Here a grid set is part of the path, so an unknown one is a 404. */
function asPathProblem(error: unknown): unknown {
  return isTilewardenError(error, 'grid-set-unknown')
    ? new HttpProblem('path-unknown', error.message)
    : error;
}
