import type { Dispatcher } from 'undici';
import { decodeUriPart } from '../../lib/decode-uri.ts';
import { hideKeys, hideValues } from '../../lib/hide-secrets.ts';
import { failureOfBody, failureOfStatus, parseRetryAfter, refuseResponse } from './upstream-failure.ts';

/** Characters of an error response that are read. */
const START_LENGTH = 2000;

type Body = Dispatcher.ResponseData['body'];

interface ReadLimits {
  readonly maxBytes: number;
  readonly host: string;
  readonly now: number;
  /** Statuses that count as success. */
  readonly accepted: readonly number[];
  /** Sent values that an error page may repeat; hidden from clients and logs. */
  readonly secrets: () => readonly string[];
  /** Encodings of the body that the caller decodes. */
  readonly encodings: readonly string[];
}

/** The whole body of a response with an accepted status; others are thrown and their socket is closed. */
export async function readResponse(response: Dispatcher.ResponseData, limits: ReadLimits): Promise<Buffer> {
  const { statusCode, headers, body } = response;
  // A destroyed body reports an error once more, when there is no reader.
  body.on('error', () => undefined);
  try {
    if (!limits.accepted.includes(statusCode)) {
      const retryAfter = parseRetryAfter(firstHeader(headers['retry-after']), limits.now);
      throw failureOfStatus(
        statusCode,
        limits.host,
        hideValues(await readStart(body), limits.secrets()),
        retryAfter,
      );
    }
    const encoding = firstHeader(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity';
    if (!limits.encodings.includes(encoding)) {
      throw refuseResponse('encoded-body', `${limits.host} encoded its answer as ${encoding.slice(0, 50)}`);
    }
    return await readBody(body, Number(firstHeader(headers['content-length']) ?? 0), limits);
  } finally {
    body.destroy();
  }
}

export function firstHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

async function readBody(body: Body, declaredLength: number, { maxBytes, host }: ReadLimits): Promise<Buffer> {
  const tooLong = () => refuseResponse('too-long', `${host} sent more than ${maxBytes} bytes`);
  if (declaredLength > maxBytes) throw tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  // Listeners take a third of the time of `for await`.
  await new Promise<void>((resolve, reject) => {
    body.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) reject(tooLong());
      else chunks.push(chunk);
    });
    body.once('end', resolve);
    body.once('error', (error) => reject(failureOfBody(error, host)));
    body.once('close', () => reject(failureOfBody(new Error('the connection was closed'), host)));
  });
  return Buffer.concat(chunks, length);
}

/** An unreadable error page is empty; the status is what counts. */
async function readStart(body: Body): Promise<string> {
  let text = '';
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8', 0, START_LENGTH);
      if (text.length >= START_LENGTH) break;
    }
  } catch {
    // The bytes before the failure are enough.
  }
  return text.slice(0, START_LENGTH);
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Freshness {
  /** Null: unknown. */
  readonly freshSeconds: number | null;
  /** An entity tag, or `@` with a date; null: neither. */
  readonly validator: string | null;
  /** As in `SourceResult`. */
  readonly warning: string | null;
}

/** RFC 9110, 15.4.5. */
export const NOT_MODIFIED = 304;
const MAX_VALIDATOR = 200;
/** Seconds; longer lifetimes are capped. */
const MAX_FRESH = 366 * 86_400;
const DATE_MARK = '@';
/** GeoServer's warning of a default or nearest value of a dimension, up to a character that no header may have. */
const OTHER_VALUE = /^99[\x20-\x7e]{0,300}/;

export function freshnessOf(headers: Headers, now: number): Freshness {
  const warning = OTHER_VALUE.exec(firstHeader(headers.warning) ?? '')?.[0] ?? null;
  return { freshSeconds: remainingSeconds(headers, now), validator: validatorOf(headers), warning };
}

/** RFC 9110, 13.1: request the response only if it has changed. */
export function conditionOf(validator: string | null | undefined): Readonly<Record<string, string>> {
  if (!validator) return {};
  if (validator.startsWith(DATE_MARK)) return { 'if-modified-since': validator.slice(DATE_MARK.length) };
  return { 'if-none-match': validator };
}

/** RFC 9111, 5.1: a response that a cache has held for `Age` seconds is fresh for that much less. */
function remainingSeconds(headers: Headers, now: number): number | null {
  const promised = promisedSeconds(headers, now);
  const age = firstHeader(headers.age) ?? '';
  if (promised === null) return null;
  return Math.min(Math.max(0, promised - (/^\d+$/.test(age) ? Number(age) : 0)), MAX_FRESH);
}

/** RFC 9111, 4.2.1: `s-maxage` before `max-age` before `Expires`. */
function promisedSeconds(headers: Headers, now: number): number | null {
  const control = firstHeader(headers['cache-control'])?.toLowerCase() ?? '';
  if (/\bno-(?:store|cache)\b/.test(control)) return 0;
  const age = /\bs-maxage\s*=\s*"?(\d+)/.exec(control) ?? /(?:^|[\s,])max-age\s*=\s*"?(\d+)/.exec(control);
  if (age) return Number(age[1]);
  const expires = firstHeader(headers.expires);
  if (expires === undefined) return null;
  const end = Date.parse(expires);
  // RFC 9111, 5.3: an invalid date, such as 0, is in the past.
  return Number.isNaN(end) ? 0 : Math.floor((end - (dateOf(headers) ?? now)) / 1000);
}

function dateOf(headers: Headers): number | null {
  const date = Date.parse(firstHeader(headers.date) ?? '');
  return Number.isNaN(date) ? null : date;
}

function validatorOf(headers: Headers): string | null {
  const etag = firstHeader(headers.etag);
  if (etag && /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag) && etag.length <= MAX_VALIDATOR) return etag;
  const modified = firstHeader(headers['last-modified']);
  return modified && !Number.isNaN(Date.parse(modified)) && modified.length <= MAX_VALIDATOR
    ? DATE_MARK + modified
    : null;
}

/** Parts of an address that only administrators may see; servers repeat them in error pages, often without the host. */
export function hiddenPartsOf({ href, pathname, search }: URL): readonly string[] {
  const shown = String(hideKeys(href));
  const parts = [...pathname.split('/'), ...search.slice(1).split(/[&=]/)];
  return parts.filter((part) => !shown.includes(part)).flatMap((part) => [part, decodeUriPart(part, part)]);
}
