import { type ErrorCode, isTilewardenError } from '../domain/errors.ts';
import { UnavailableError } from '../lib/error-code.ts';
import { type Headers, type Response, textResponse } from './response.ts';

/** Problems of HTTP itself, with their status. */
const OWN = {
  'path-malformed': 400,
  'body-unreadable': 400,
  'header-invalid': 400,
  'credentials-needed': 401,
  forbidden: 403,
  'cross-site': 403,
  'path-unknown': 404,
  'tile-not-stored': 404,
  'task-unknown': 404,
  'schedule-unknown': 404,
  'method-not-allowed': 405,
  'not-acceptable': 406,
  'request-timeout': 408,
  conflict: 409,
  'precondition-failed': 412,
  'body-too-large': 413,
  'address-too-long': 414,
  'media-type-unsupported': 415,
  'range-unsatisfiable': 416,
  'too-many-requests': 429,
  'headers-too-large': 431,
  'operation-unsupported': 501,
};
export type HttpProblemCode = keyof typeof OWN;

/** The only place that maps problems to a status. */
const STATUS: Readonly<Record<ErrorCode | HttpProblemCode, number>> = {
  ...OWN,
  'request-invalid': 400,
  'parameter-refused': 400,
  'layer-disabled': 400,
  'grid-set-unknown': 400,
  'format-unknown': 400,
  'role-missing': 403,
  'layer-unknown': 404,
  'tile-outside': 404,
  'tile-not-cached': 404,
  'account-unknown': 404,
  'entry-unknown': 404,
  'account-conflict': 409,
  'too-many-parameter-sets': 409,
  'entry-conflict': 409,
  'entry-read-only': 409,
  'key-reused': 409,
  'entry-changed': 412,
  'attempts-throttled': 429,
  'too-many-exports': 429,
  'too-many-tasks': 429,
  'config-invalid': 500,
  'data-folder-in-use': 500,
  'source-bad-answer': 502,
  'source-unavailable': 502,
  'source-busy': 503,
  'store-failed': 503,
  'store-full': 503,
  'generation-stale': 503,
  'lease-lost': 503,
  'audit-unwritable': 503,
  stopping: 503,
  'source-timeout': 504,
};

/** The status of `UnavailableError`: the database or another service cannot be reached. */
const UNAVAILABLE = 503;
/** Seconds; for failures that name no time. */
const DEFAULT_RETRY_AFTER = 5;
const MAX_MESSAGE_LENGTH = 1000;

export class HttpProblem extends Error {
  readonly code: HttpProblemCode;
  readonly headers: Headers;

  /** `message` is shown to the caller. */
  constructor(code: HttpProblemCode, message: string, headers: Headers = []) {
    super(message);
    this.name = 'HttpProblem';
    this.code = code;
    this.headers = headers;
  }
}

export function tooMany(message: string, retryAfterSeconds = 1): HttpProblem {
  return new HttpProblem('too-many-requests', message, ['Retry-After', String(retryAfterSeconds)]);
}

/** The response to an error: one line of text without internals. The caller logs an unexpected error. */
export function problemOf(error: unknown, requestId: string) {
  const foreseen = (status: number, message: string, headers: Headers) => ({
    answer: problemResponse(status, message, headers),
    unexpected: false,
  });
  if (error instanceof HttpProblem) return foreseen(STATUS[error.code], error.message, error.headers);
  if (isTilewardenError(error) && STATUS[error.code] !== 500) {
    const status = STATUS[error.code];
    const missed = error.code === 'tile-not-cached' ? ['X-Cache', 'MISS'] : [];
    return foreseen(status, error.message, [...missed, ...retryAfter(status, error.retryAfterSeconds)]);
  }
  if (error instanceof UnavailableError) {
    return foreseen(UNAVAILABLE, error.message, retryAfter(UNAVAILABLE, null));
  }
  const message = `Internal error; the server's log has the reason, under request ${requestId}.`;
  return { answer: problemResponse(500, message, []), unexpected: true };
}

export function statusOf(code: ErrorCode | HttpProblemCode): number {
  return STATUS[code];
}

function problemResponse(status: number, message: string, headers: Headers): Response {
  return textResponse(status, `${oneLine(message)}\n`, ['Cache-Control', 'no-store', ...headers]);
}

function retryAfter(status: number, seconds: number | null): Headers {
  if (status < 502 && status !== 429) return [];
  return ['Retry-After', String(Math.max(1, Math.ceil(seconds ?? DEFAULT_RETRY_AFTER)))];
}

/** Replaces control characters, as names come from clients, and shortens the message. */
function oneLine(message: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this takes out
  const visible = message.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '\ufffd');
  return visible.length > MAX_MESSAGE_LENGTH ? `${visible.slice(0, MAX_MESSAGE_LENGTH)}…` : visible;
}
