/**
 * Every failure with a code. The code identifies the failure; its HTTP status is in `http/problems.ts` and nowhere
 * else.
 */
export type ErrorCode =
  | 'layer-unknown'
  | 'layer-disabled'
  | 'grid-set-unknown'
  | 'format-unknown'
  | 'tile-outside'
  /** The layer is served from the cache alone. */
  | 'tile-not-cached'
  | 'parameter-refused'
  /** The layer has reached its limit of stored parameter combinations. */
  | 'too-many-parameter-sets'
  | 'request-invalid'
  | 'too-many-exports'
  /** The limit of waiting tasks is reached. */
  | 'too-many-tasks'
  /** The idempotency key belongs to another request. */
  | 'key-reused'
  | 'config-invalid'
  /** The source could not be reached, or answered that it cannot serve now. */
  | 'source-unavailable'
  | 'source-timeout'
  /** Too many requests are waiting; retry later. */
  | 'source-busy'
  /** The source answered, but not with an image that may enter the cache. */
  | 'source-bad-answer'
  | 'store-failed'
  | 'store-full'
  /** A mark of the place has a later number than the ticket of the fetched tile. */
  | 'generation-stale'
  /** The result belongs to a lease that another worker has taken over. */
  | 'lease-lost'
  | 'data-folder-in-use'
  /** Too many wrong passwords, or too many concurrent checks; retry later. */
  | 'attempts-throttled'
  | 'account-unknown'
  /** A user of another system without a role here. */
  | 'role-missing'
  /** The name is in use, or it is the last administrator. */
  | 'account-conflict'
  /** Changes are refused if they cannot be logged. */
  | 'audit-unwritable'
  /** Not declared. */
  | 'entry-unknown'
  /** It is declared in the configuration file, or built in. */
  | 'entry-read-only'
  /** The name is in use, or others need it. */
  | 'entry-conflict'
  /** Changed by another request in the meantime. */
  | 'entry-changed'
  | 'stopping';

/** A map server's response instead of an image. For callers with a role; never part of a response to tile clients. */
export interface UpstreamWords {
  /** Status of its HTTP response; null: none came. */
  readonly status: number | null;
  /** Its first words, by `plainExcerpt`; null: none. */
  readonly text: string | null;
  /** Address of the request, without secrets; null for sources without addresses. */
  readonly address: string | null;
}

interface ErrorDetails {
  readonly cause?: unknown;
  /** Why a source's answer was refused, e.g. `service-exception`; one of a short list, for counting. */
  readonly reason?: string | null | undefined;
  readonly retryAfterSeconds?: number | null | undefined;
  readonly upstream?: Partial<UpstreamWords> | null | undefined;
}

export class TilewardenError extends Error {
  readonly code: ErrorCode;
  readonly reason: string | null;
  readonly retryAfterSeconds: number | null;
  readonly upstream: UpstreamWords | null;

  /** `message` may be shown to any caller: hosts, paths and secrets belong to `cause` and `upstream` only. */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TilewardenError';
    this.code = code;
    this.reason = details.reason ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
    this.upstream = details.upstream
      ? { status: null, text: null, address: null, ...details.upstream }
      : null;
  }
}

export function invalid(message: string): TilewardenError {
  return new TilewardenError('request-invalid', message);
}

/** For settings that cannot be used together, or not here. */
export function misconfigured(message: string, cause?: unknown): TilewardenError {
  return new TilewardenError('config-invalid', message, { cause });
}

export function isTilewardenError(error: unknown, ...codes: ErrorCode[]): error is TilewardenError {
  return error instanceof TilewardenError && (codes.length === 0 || codes.includes(error.code));
}

/** The source requires credentials, or others than were passed on. */
export function refusesCaller(error: unknown): error is TilewardenError {
  return isTilewardenError(error) && [401, 403].includes(error.upstream?.status ?? 0);
}

/** The source failed: an older tile is better than none. */
export function isSourceFailure(error: unknown): boolean {
  return isTilewardenError(error, 'source-unavailable', 'source-timeout', 'source-busy', 'source-bad-answer');
}

/** A source's failure with more details of its request; existing details stay. */
export function withUpstream(error: unknown, known: Partial<UpstreamWords>): unknown {
  if (!isTilewardenError(error) || !isSourceFailure(error)) return error;
  const { code, message, cause, reason, retryAfterSeconds, upstream } = error;
  const words = {
    status: upstream?.status ?? known.status ?? null,
    text: upstream?.text ?? known.text ?? null,
    address: upstream?.address ?? known.address ?? null,
  };
  return new TilewardenError(code, message, { cause, reason, retryAfterSeconds, upstream: words });
}

/** For users who may see the map server's response, e.g. `… HTTP 503.` */
export function messageWithStatus({ message, upstream }: TilewardenError): string {
  const status = upstream?.status ?? 200;
  return status === 200 ? message : `${message} HTTP ${status}.`;
}

/** For counting: one of a short list. */
export function reasonOf(error: unknown): string {
  return isTilewardenError(error) ? (error.reason ?? error.code) : 'unexpected';
}

/** For a rejection: false if a mark has a later number than the ticket of the fetched tile. */
export function falseIfOutdated(error: unknown): false {
  if (isTilewardenError(error, 'generation-stale')) return false;
  throw error;
}

const SHOWN = 100;

/** The part of untrusted text that may be repeated in a message. */
export function shortened(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
