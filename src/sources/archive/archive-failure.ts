import { TilewardenError } from '../../domain/errors.ts';

/** The archive is not there, or is no archive. `detail` is for the log. */
export function archiveUnavailable(detail: unknown): TilewardenError {
  return new TilewardenError('source-unavailable', 'The tile archive cannot be read.', {
    reason: 'archive',
    cause: detail,
  });
}

export function archiveDamaged(detail: string): TilewardenError {
  return new TilewardenError('source-bad-answer', 'The tile archive is damaged.', {
    reason: 'archive',
    cause: new Error(detail),
  });
}

/** What an archive's library or the file system throws, in our words. An aborted signal's reason goes through. */
export function archiveFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return error instanceof TilewardenError ? error : archiveUnavailable(error);
}
