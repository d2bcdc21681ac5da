import { TilewardenError } from '../../domain/errors.ts';
import { errorCode, hasCode } from '../../lib/error-code.ts';
import { hideCredentials } from '../../lib/hide-secrets.ts';
import { plainExcerpt } from '../../lib/plain-excerpt.ts';
import { AddressRefused } from './address-guard.ts';

/** Characters of an error response that are kept for the log. */
const EXCERPT_LENGTH = 500;
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** Why a response is refused before it is decoded, by its name in metrics. */
const REFUSALS = {
  status: 'The map source answered with an error.',
  'encoded-body': 'The map source sent a compressed answer although none was asked for.',
  'too-long': 'The map source sent more than is allowed.',
  truncated: 'The map source ended its answer too early.',
};

export function refuseResponse(reason: keyof typeof REFUSALS, detail: string): TilewardenError {
  return new TilewardenError('source-bad-answer', REFUSALS[reason], { reason, cause: new Error(detail) });
}

export function timedOut(detail: string): TilewardenError {
  return new TilewardenError('source-timeout', 'The map source did not answer in time.', {
    cause: new Error(detail),
  });
}

export function unavailable(cause: unknown, isProxied = false): TilewardenError {
  const refused = cause instanceof AddressRefused ? cause : null;
  const reason = refused ? 'address-refused' : 'connection';
  const through = isProxied ? ' through the proxy' : '';
  const message = refused?.advice ?? `The map source cannot be reached${through}.`;
  return new TilewardenError('source-unavailable', message, { cause, reason });
}

/** 5xx: it cannot serve now; 429: retry later; others but 200: the response is useless. */
export function failureOfStatus(
  status: number,
  host: string,
  body: string,
  retryAfterSeconds: number | null,
): TilewardenError {
  const cause = new Error(`${host} answered ${status}: ${hideCredentials(body).slice(0, EXCERPT_LENGTH)}`);
  const known = { cause, reason: 'status', upstream: { status, text: plainExcerpt(body) } };
  const details = { ...known, retryAfterSeconds };
  if (status === 429) {
    return new TilewardenError(
      'source-busy',
      'The map source answered that there are too many requests.',
      details,
    );
  }
  if (status < 500) return new TilewardenError('source-bad-answer', REFUSALS.status, known);
  const message = 'The map source answered that it cannot serve now.';
  return new TilewardenError('source-unavailable', message, details);
}

/** RFC 9110, 10.2.3: a number of seconds or a date. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - now) / 1000);
  return Number.isFinite(seconds) ? Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, seconds)) : null;
}

/** By undici's codes for failures before or during the headers. */
export function failureOfConnection(error: unknown, host: string, isProxied: boolean): TilewardenError {
  const code = errorCode(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timedOut(`${host} did not accept a connection in time`);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return timedOut(`${host} did not begin to answer in time`);
  if (code === 'UND_ERR_BODY_TIMEOUT') return timedOut(`${host} stopped in the middle of its answer`);
  return unavailable(error, isProxied);
}

export function failureOfBody(error: unknown, host: string): TilewardenError {
  if (hasCode(error, 'UND_ERR_BODY_TIMEOUT')) return timedOut(`${host} stopped in the middle of its answer`);
  return refuseResponse('truncated', `${host} ended its answer early: ${String(error)}`);
}
