import { createHash } from 'node:crypto';
import type { Layer } from '../../domain/layer.ts';
import { isNotModified } from '../answer/negotiate.ts';
import type { Answer } from '../answer.ts';
import { isOpen } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';

/** A small document that is written for each request: kept by clients, and asked for anew each time. */
export function documentAnswer(
  exchange: Exchange,
  document: string | Buffer,
  layers: readonly Layer[],
  contentType: string,
): Answer {
  const etag = `"${createHash('sha1').update(document).digest('hex')}"`;
  const freshness = ['ETag', etag, 'Cache-Control', layers.every(isOpen) ? 'no-cache' : 'private, no-cache'];
  if (isNotModified(exchange.headers, etag, Number.POSITIVE_INFINITY)) {
    return { status: 304, headers: freshness, body: null };
  }
  return { status: 200, headers: ['Content-Type', contentType, ...freshness], body: document };
}
