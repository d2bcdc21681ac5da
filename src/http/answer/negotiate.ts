import type { IncomingHttpHeaders } from 'node:http';

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
