import { createHash } from 'node:crypto';
import type { Layer } from '../../domain/layer.ts';
import { isNotModified } from '../answer/negotiate.ts';
import type { Answer } from '../answer.ts';
import { isOpen } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';

/** As below, of a document that is written for each request. */
export function documentAnswer(
  exchange: Exchange,
  document: string | Buffer,
  layers: readonly Layer[],
  contentType: string,
): Answer {
  const bytes = Buffer.from(document);
  const etag = `"${createHash('sha1').update(bytes).digest('hex')}"`;
  return capabilitiesAnswer(exchange, { bytes, etag }, layers, contentType);
}

/** A document that tells of layers: kept by clients, and asked for anew each time. */
export function capabilitiesAnswer(
  exchange: Exchange,
  { bytes, etag }: { readonly bytes: Buffer; readonly etag: string },
  layers: readonly Layer[],
  contentType: string,
): Answer {
  const freshness = ['ETag', etag, 'Cache-Control', layers.every(isOpen) ? 'no-cache' : 'private, no-cache'];
  if (isNotModified(exchange.headers, etag, Number.POSITIVE_INFINITY)) {
    return { status: 304, headers: freshness, body: null };
  }
  return { status: 200, headers: ['Content-Type', contentType, ...freshness], body: bytes };
}
