import type { SourceAnswer, SourceRequest } from '../tile-source.ts';
import { NOT_MODIFIED } from './answer-freshness.ts';
import type { UpstreamAnswer, UpstreamRequest } from './upstream-client.ts';

/** What a request for a picture takes over from what was asked of the source. */
export function pictureRequest(
  { priority, validator = null, format, sent }: SourceRequest,
  signal: AbortSignal,
): Pick<UpstreamRequest, 'priority' | 'validator' | 'signal' | 'packed' | 'sent'> {
  // Vector tiles are kept packed; for the gate a picture that is packed is no picture.
  return { priority, validator, signal, sent, packed: format.kind === 'opaque' };
}

/** `check` refuses what is not a picture of the kind that was asked for. */
export function serverAnswer(
  { status, bytes, mediaType, freshSeconds, validator }: UpstreamAnswer,
  check: (mediaType: string | null) => void,
): SourceAnswer {
  if (status === NOT_MODIFIED) return { kind: 'unchanged', freshSeconds };
  check(mediaType);
  return { kind: 'encoded', bytes, mediaType, freshSeconds, validator };
}
