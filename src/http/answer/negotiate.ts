import type { IncomingHttpHeaders } from 'node:http';
import { HttpProblem } from '../problems.ts';

/** RFC 9110, 13.2.2: If-None-Match decides alone when it is there; dates are compared in whole seconds. */
export function isNotModified(headers: IncomingHttpHeaders, etag: string, modifiedAt: number): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return matchesTag(tags, etag);
  const since = headers['if-modified-since'];
  if (since === undefined) return false;
  const time = Date.parse(since);
  return !Number.isNaN(time) && Math.floor(modifiedAt / 1000) * 1000 <= time;
}

/** RFC 9110, 13.1.1: without the header any version will do. */
export function isSameVersion(ifMatch: string | undefined, etag: string): boolean {
  return ifMatch === undefined || matchesTag(ifMatch, etag);
}

/** Compared weakly (RFC 9110, 13.1.2; for If-Match too), so `W/"x"` stands for `"x"`, which a proxy that compresses may have made of it. */
function matchesTag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/**
 * RFC 9110, 14.2: the bytes that are asked for, from `start` to `end`; null: all of them, as also for several parts, and
 * when `If-Range` names another version.
 */
export function askedPart(
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

/** RFC 9110, 12.5.3: nothing but `identity` may be sent to whoever does not name a coding. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const codings = String(acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.split(';').map((part) => part.trim()));
  const weight = (wanted: string) => {
    const [, ...parameters] = codings.find(([name]) => name === wanted) ?? [];
    if (!codings.some(([name]) => name === wanted)) return null;
    return Number(parameters.find((part) => part.startsWith('q='))?.slice(2) ?? 1);
  };
  return (weight('gzip') ?? weight('x-gzip') ?? weight('*') ?? 0) > 0;
}
