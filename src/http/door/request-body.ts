import type { IncomingHttpHeaders } from 'node:http';
import { HttpProblem } from '../problems.ts';

/** What plain `curl -d` says of any body. */
export const FORM = 'application/x-www-form-urlencoded';

/** Null when the request does not say. Parameters such as `; charset=utf-8` are left out. */
export function mediaTypeOf(headers: IncomingHttpHeaders): string | null {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? null;
}

/** A request that says nothing of its body is taken at its word by the path. */
export function requireMediaType(headers: IncomingHttpHeaders, allowed: readonly string[]): string | null {
  const mediaType = mediaTypeOf(headers);
  if (mediaType === null || allowed.includes(mediaType)) return mediaType;
  throw new HttpProblem('media-type-unsupported', `The Content-Type must be ${allowed.join(' or ')}.`);
}
