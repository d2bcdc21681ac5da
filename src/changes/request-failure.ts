import { isTilewardenError } from '../domain/errors.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { plainReason } from '../lib/plain-reason.ts';

/** Why a request failed, for operators. `server`: its name in place of the map source, by which the client calls every server. */
export function requestFailure(error: unknown, server: string): string {
  if (!isTilewardenError(error)) return hideCredentials(plainReason(error));
  const message = error.message.replace(/^The map source\b/, server);
  if (!error.cause) return message;
  const why = hideCredentials(plainReason(error.cause));
  return error.reason === 'connection' ? `${message.replace(/\.$/, '')}: ${why}.` : `${message} (${why})`;
}
