import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpProblem } from '../problems.ts';

/** The type that `curl -d` sends for any body. */
export const FORM = 'application/x-www-form-urlencoded';

/** Types of bodies that GeoWebCache's clients send, by the extension of the path. */
export const BODY_TYPES = {
  xml: ['text/xml', 'application/xml', FORM],
  json: ['application/json', 'text/json', FORM],
};

/** Null when missing. Without parameters such as `; charset=utf-8`. */
export function mediaTypeOf(headers: IncomingHttpHeaders): string | null {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? null;
}

/** Without a `Content-Type`, the path decides. */
export function requireMediaType(headers: IncomingHttpHeaders, allowed: readonly string[]): string | null {
  const mediaType = mediaTypeOf(headers);
  if (mediaType === null || allowed.includes(mediaType)) return mediaType;
  throw new HttpProblem('media-type-unsupported', `The Content-Type must be ${allowed.join(' or ')}.`);
}

/** Throws when the body is longer than `limit` bytes, before or while it is read. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = Number(request.headers['content-length'] ?? 0) > limit ? Number.POSITIVE_INFINITY : 0;
  try {
    // The connection stays open: a client that sent too much must be able to read the response.
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
