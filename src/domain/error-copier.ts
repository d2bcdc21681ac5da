import { UnavailableError } from '../lib/error-code.ts';
import { isTilewardenError, TilewardenError } from './errors.ts';
import { HostClosed, type HostClosing, hostClosedIn } from './upstream-status.ts';

interface WrittenError
  extends Pick<TilewardenError, 'code' | 'message' | 'reason' | 'retryAfterSeconds' | 'upstream'> {
  readonly cause: string | null;
  readonly closed: { readonly host: string; readonly closing: HostClosing } | null;
}

interface WrittenOtherError {
  readonly message: string;
  readonly unavailable: boolean;
}

/** Copies a `TilewardenError` as plain data for another process or thread. Other errors keep only their message. */
export const errorCopier = {
  write(error: unknown): WrittenError | WrittenOtherError {
    if (!isTilewardenError(error)) {
      const message = error instanceof Error ? error.message : String(error);
      return { message, unavailable: error instanceof UnavailableError };
    }
    const { code, message, reason, retryAfterSeconds, upstream } = error;
    const closed = hostClosedIn(error);
    return {
      code,
      message,
      reason,
      retryAfterSeconds,
      upstream,
      cause: error.cause instanceof Error ? causeText(error.cause) : null,
      closed: closed && { host: closed.host, closing: closed.closing },
    };
  },

  read(written: unknown): Error {
    const error = written as WrittenError | WrittenOtherError;
    if (!('code' in error))
      return error.unavailable ? new UnavailableError(error.message) : new Error(error.message);
    const { code, message, reason, retryAfterSeconds, upstream, cause, closed } = error;
    return new TilewardenError(code, message, {
      reason,
      retryAfterSeconds,
      upstream,
      ...(cause !== null && { cause: new Error(cause) }),
      ...(closed && { cause: new HostClosed(closed.host, closed.closing) }),
    });
  },
};

/** With the code of the system or the library, e.g. `ENOSPC`. */
function causeText(cause: Error): string {
  return 'code' in cause ? `${cause.code}: ${cause.message}` : cause.message;
}
