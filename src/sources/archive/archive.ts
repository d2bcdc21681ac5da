import { TilewardenError } from '../../domain/errors.ts';

interface ArchivedTile {
  readonly bytes: Buffer;
  /** The format in the archive's metadata; null: none. */
  readonly mediaType: string | null;
}

/** Tiles in one file. Rows count from the top. Failures are `source-unavailable` or `source-bad-answer`. */
export interface Archive {
  /** Null: it has none there. */
  tile(z: number, x: number, y: number, access: ArchiveAccess): Promise<ArchivedTile | null>;
  /** Its metadata, e.g. `vector_layers`; plain JSON, not validated. */
  metadata(access: ArchiveAccess): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export interface ArchiveAccess {
  readonly priority: 'interactive' | 'task';
  readonly signal: AbortSignal;
}

export const VECTOR_TILE = 'application/vnd.mapbox-vector-tile';

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

/** Converts errors of the library and the file system. The reason of an aborted signal passes through. */
export function archiveFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return error instanceof TilewardenError ? error : archiveUnavailable(error);
}
