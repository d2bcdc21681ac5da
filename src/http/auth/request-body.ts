import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpProblem } from '../problems.ts';

/** What plain `curl -d` says of any body. */
export const FORM = 'application/x-www-form-urlencoded';

/** Types of bodies that GeoWebCache's clients send, by the extension of the path. */
export const BODY_TYPES = {
  xml: ['text/xml', 'application/xml', FORM],
  json: ['application/json', 'text/json', FORM],
};

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

/** Reads a body to its end. Throws when it is longer than `limit` bytes, which is known before it is read or after so many. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = Number(request.headers['content-length'] ?? 0) > limit ? Number.POSITIVE_INFINITY : 0;
  try {
    // A client that sent too much must be able to read the answer, so the connection stays.
    const pieces = length > limit ? [] : request.iterator({ destroyOnReturn: false });
    for await (const chunk of pieces) {
      length += chunk.length;
      if (length > limit) break;
      chunks.push(chunk);
    }
  } catch {
    throw new HttpProblem('body-unreadable', 'The body could not be read to its end.');
  }
  if (length > limit) throw new HttpProblem('body-too-large', `A body may have at most ${limit} bytes.`);
  return Buffer.concat(chunks);
}
