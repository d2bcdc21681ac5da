import type { IncomingHttpHeaders } from 'node:http';
import type { Format } from '../domain/format.ts';
import type { Context } from './context.ts';
import { HttpProblem } from './problems.ts';
import type { Headers, Response } from './response.ts';

/** RFC 9110, 13.2.2: If-None-Match takes precedence over the date; dates are compared in whole seconds. */
export function isNotModified(headers: IncomingHttpHeaders, etag: string, modifiedAt: number): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return matchesTag(tags, etag);
  const since = headers['if-modified-since'];
  if (since === undefined) return false;
  const time = Date.parse(since);
  return !Number.isNaN(time) && Math.floor(modifiedAt / 1000) * 1000 <= time;
}

/** The document, or 304; `headers` go with both. */
export function validated(
  { headers: request }: { readonly headers: IncomingHttpHeaders },
  etag: string,
  headers: Headers,
  { body, type, modifiedAt = Number.POSITIVE_INFINITY }: ValidatedBody,
): Response {
  const all = ['ETag', etag, ...headers];
  if (isNotModified(request, etag, modifiedAt)) return { status: 304, headers: all, body: null };
  return { status: 200, headers: ['Content-Type', type, ...all], body };
}

interface ValidatedBody {
  readonly body: Buffer | string;
  readonly type: string;
  /** Milliseconds since 1970; absent: only the tag counts. */
  readonly modifiedAt?: number;
}

/** RFC 9110, 13.1.1: without the header any version matches. */
export function isSameVersion(ifMatch: string | undefined, etag: string): boolean {
  return ifMatch === undefined || matchesTag(ifMatch, etag);
}

/** Compared weakly (RFC 9110, 13.1.2; for If-Match too): a compressing proxy may turn `"x"` into `W/"x"`. */
function matchesTag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/**
 * RFC 9110, 14.2: the requested bytes, `start` to `end` inclusive; null: all of them, also for several ranges, or if
 * `If-Range` names another version.
 */
export function requestedRange(
  { range = '', 'if-range': version }: IncomingHttpHeaders,
  etag: string,
  size: number,
): { readonly start: number; readonly end: number } | null {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range) ?? [];
  if (from + to === '' || (version ?? etag) !== etag) return null;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return null;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (start <= end) return { start, end };
  throw new HttpProblem('range-unsatisfiable', `There are ${size} bytes.`, [
    'Content-Range',
    `bytes */${size}`,
  ]);
}

/** RFC 9110, 12.5.3: a client without the header gets `identity`. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const codings = String(acceptEncoding ?? '')
    .split(',')
    .map(readWish);
  const weight = (coding: string) => codings.find(({ type }) => type === coding)?.quality;
  return (weight('gzip') ?? weight('x-gzip') ?? weight('*') ?? 0) > 0;
}

type Wish = ReturnType<typeof readWish>;

/** More types than any client accepts. */
const MAX_ACCEPTED_TYPES = 100;

/**
 * The offer that the `Accept` header prefers; null: none is acceptable. RFC 9110, 12.5.1: the most specific entry counts
 * for a type. On equal quality a named type wins over a wildcard, then the first offer: a browser that names
 * `image/webp` gets it, one with `image/*` gets our default.
 */
export function chooseMediaType<Offer extends string>(
  accept: string | undefined,
  offered: readonly Offer[],
): Offer | null {
  if (accept === undefined || accept.trim() === '') return offered[0] ?? null;
  const wishes = accept.split(',', MAX_ACCEPTED_TYPES).map(readWish);
  const ranked = offered
    .map((offer) => ({ offer, ...preferenceFor(offer, wishes) }))
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality || a.range - b.range);
  return ranked[0]?.offer ?? null;
}

/** `range` 0: by name; 1: `image/*`; 2: anything. */
function preferenceFor(offer: string, wishes: readonly Wish[]) {
  const ranges = [offer, `${offer.split('/', 1)[0]}/*`, '*/*'];
  const matches = ranges.map((name) => wishes.find(({ type }) => type === name));
  const range = matches.findIndex((wish) => wish !== undefined);
  return { quality: matches[range]?.quality ?? 0, range };
}

/** `quality` is 0 to 1; 0: not acceptable. Ignores parameters other than `q`: each type has one representation. */
function readWish(text: string) {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  const quality = weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ''));
  return { type, quality: Number.isNaN(quality) ? 0 : Math.min(Math.max(quality, 0), 1) };
}

/** The best match for `Accept`; without one the first. Responses vary by that header. */
export function formatAccepted(context: Context, offered: readonly Format[]): Format {
  const types = [...new Set(offered.map(({ contentType }) => contentType))];
  const type = chooseMediaType(context.headers.accept, types);
  const format = offered.find(({ contentType }) => contentType === type);
  if (format) return format;
  throw new HttpProblem('not-acceptable', `There is ${types.join(', ')}; Accept allows none of it.`, [
    'Vary',
    'Accept',
  ]);
}
