import { TilewardenError } from '../../domain/errors.ts';
import { plainImageType } from '../../domain/format.ts';
import { hideValues, isSecretName } from '../../lib/hide-secrets.ts';
import type { SourceRequest, SourceResult } from '../tile-source.ts';
import { NOT_MODIFIED } from './read-response.ts';
import type { UpstreamRequest, UpstreamResponse } from './upstream-client.ts';

export function pictureRequest(
  { priority, validator = null, format, sent }: SourceRequest,
  signal: AbortSignal,
): Pick<UpstreamRequest, 'priority' | 'validator' | 'signal' | 'packed' | 'sent'> {
  // Vector tiles are kept packed; for the gate a picture that is packed is no picture.
  return { priority, validator, signal, sent, packed: format.kind === 'opaque' };
}

const TEXT = /^text\/|xml$|json$/;

/** `check` refuses anything but a picture of the requested kind. */
export function serverResponse(
  { status, bytes: sent, mediaType, secrets, ...freshness }: UpstreamResponse,
  check: (mediaType: string | null) => void,
): SourceResult {
  const { freshSeconds, validator, warning } = freshness;
  if (status === NOT_MODIFIED) return { kind: 'unchanged', freshSeconds };
  check(mediaType);
  // An exception in place of a picture is shown in excerpts.
  const bytes = TEXT.test(mediaType ?? '')
    ? Buffer.from(hideValues(sent.toString('latin1'), secrets()), 'latin1')
    : sent;
  return { kind: 'encoded', bytes, mediaType, freshSeconds, validator, warning };
}

const HIDDEN = '***';

/** An address for readers of a layer: no user, password or key in the query. */
export function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  shown.hash = '';
  for (const name of new Set(shown.searchParams.keys())) {
    if (isSecretName(name)) shown.searchParams.set(name, HIDDEN);
  }
  return shown.toString();
}

/** The server must return the requested type; other content is reported by the gate. */
export function checkMediaType(mediaType: string | null, requested: string): void {
  if (!mediaType?.startsWith('image/') || plainImageType(mediaType) === plainImageType(requested)) return;
  throw new TilewardenError(
    'source-bad-answer',
    'The map source sent an image of another type than requested.',
    { reason: 'wrong-type', cause: new Error(`asked for ${requested}, got ${mediaType}`) },
  );
}
