import type { SourceAnswer, SourceRequest } from '../tile-source.ts';
import { NOT_MODIFIED } from './answer-freshness.ts';
import type { UpstreamAnswer, UpstreamRequest } from './upstream-client.ts';

/** What a request for a picture takes over from what was asked of the source. */
export function pictureRequest(
  { priority, validator = null }: SourceRequest,
  signal: AbortSignal,
): Pick<UpstreamRequest, 'priority' | 'validator' | 'signal'> {
  return { priority, validator, signal };
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
