import { createHash } from 'node:crypto';
import { invalid, shortened } from '../../../domain/errors.ts';
import { writeJson } from '../../../lib/write-json.ts';
import { isNotModified } from '../../answer/negotiate.ts';
import type { Answer } from '../../answer.ts';
import type { Exchange } from '../../exchange.ts';
import type { PageWriter } from '../../pages/page.ts';
import { HttpProblem } from '../../problems.ts';
import { chooseMediaType } from '../accept.ts';
import { HTML_TYPE, JSON_TYPE } from './ogc-link.ts';
import { describeInHtml } from './ogc-page.ts';

export interface OgcDocument {
  readonly title: string;
  readonly content: object;
  /** Told in the type as well, for a JSON that has a type of its own. */
  readonly jsonType?: string;
  /** Who asks decides what is in it. */
  readonly personal: boolean;
}

export type DocumentAnswerer = (exchange: Exchange, document: OgcDocument) => Answer;

/** The one way of every document here: JSON or HTML by `f` or `Accept`, with a validator. */
export function createDocumentAnswerer(page: PageWriter): DocumentAnswerer {
  return (exchange, document) => {
    const type = typeAsked(exchange);
    const { body, headers } = type === HTML_TYPE ? asPage(document, page) : asJson(document);
    const etag = `"${createHash('sha1').update(body).digest('base64url')}"`;
    const freshness = [
      'ETag',
      etag,
      'Cache-Control',
      document.personal ? 'private, no-cache' : 'no-cache',
      'Vary',
      'Accept',
    ];
    if (isNotModified(exchange.headers, etag, Number.POSITIVE_INFINITY)) {
      return { status: 304, headers: freshness, body: null };
    }
    return { status: 200, headers: [...headers, ...freshness], body };
  };
}

function asJson({ content, jsonType = JSON_TYPE }: OgcDocument): { body: string; headers: string[] } {
  return { body: writeJson(content), headers: ['Content-Type', jsonType] };
}

function asPage({ title, content }: OgcDocument, page: PageWriter): { body: string; headers: string[] } {
  const { body, headers } = page({ title, body: describeInHtml(content) });
  return { body: String(body), headers: [...headers] };
}

/** `f` goes before the header: it is what somebody typed. */
export function typeAsked(exchange: Exchange): typeof JSON_TYPE | typeof HTML_TYPE {
  const asked = formatParameter(exchange);
  if (asked === null) return typeAccepted(exchange);
  if (asked === 'json' || asked === JSON_TYPE) return JSON_TYPE;
  if (asked === 'html' || asked === HTML_TYPE) return HTML_TYPE;
  throw invalid(`f must be json or html, not ${shortened(asked)}.`);
}

/** Null when the address does not say. */
export function formatParameter(exchange: Exchange): string | null {
  if (exchange.query === '') return null;
  const given = new Set(new URLSearchParams(exchange.query).getAll('f'));
  if (given.size > 1) throw invalid('The parameter f is given twice.');
  const [asked = ''] = given;
  return asked === '' ? null : asked;
}

function typeAccepted(exchange: Exchange): typeof JSON_TYPE | typeof HTML_TYPE {
  const chosen = chooseMediaType(exchange.headers.accept, [JSON_TYPE, HTML_TYPE]);
  if (chosen) return chosen;
  throw new HttpProblem('not-acceptable', `There is ${JSON_TYPE} and ${HTML_TYPE}.`, ['Vary', 'Accept']);
}
