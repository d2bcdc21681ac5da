import { isUtf8 } from 'node:buffer';
import type { Layer } from '../../domain/layer.ts';
import type { FeatureInfo } from '../../pipeline/feature-info.ts';
import type { Answer } from '../answer.ts';
import { isOpen } from '../door/layer-visibility.ts';

/** It comes from another server but from our address: a browser shows it, and runs nothing of it. */
const POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** What a source says of a place. It is not kept: it may have changed by the next time. */
export function infoAnswer({ bytes, mediaType }: FeatureInfo, layer: Layer): Answer {
  const charset = isUtf8(bytes) ? '; charset=utf-8' : '';
  return {
    status: 200,
    headers: [
      'Content-Type',
      `${mediaType}${charset}`,
      'Cache-Control',
      isOpen(layer) ? 'no-cache' : 'private, no-cache',
      'Content-Security-Policy',
      POLICY,
    ],
    body: bytes,
  };
}
