import { TilewardenError } from '../../domain/errors.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { openSqliteFile, type SqliteDatabase } from '../sqlite-file.ts';

interface ArchivedTile {
  readonly bytes: Buffer;
  /** The format in the archive's metadata; null: none. */
  readonly mediaType: string | null;
}

/** Tiles in one file. Rows count from the top. Failures are `source-unavailable` or `source-bad-answer`. */
export interface Archive {
  /** Null: no tile. */
  tile(tile: TileIndex, access: ArchiveAccess): Promise<ArchivedTile | null>;
  /** Its metadata, e.g. `vector_layers`; plain JSON, not validated. */
  metadata(access: ArchiveAccess): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export interface ArchiveAccess {
  readonly priority: 'interactive' | 'task';
  readonly signal: AbortSignal;
}

export const VECTOR_TILE = 'application/vnd.mapbox-vector-tile';

/** The archive is missing or not an archive. `detail` is for the log. */
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

/** MBTiles 1.3: the values of `format`. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  pbf: VECTOR_TILE,
  mvt: VECTOR_TILE,
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

export function openMbtiles(path: string, clock: Clock): Archive {
  const file = openSqliteFile(path, clock, prepare);

  async function attempt<T>(signal: AbortSignal, read: () => T): Promise<T> {
    signal.throwIfAborted();
    try {
      return read();
    } catch (error) {
      throw archiveFailure(error, signal);
    }
  }

  return {
    tile: ({ z, x, y }, { signal }) =>
      attempt(signal, () => {
        const { find, metadata } = file.current().tables;
        // MBTiles 1.3: rows count from the bottom, as in TMS.
        const bytes = find.get(z, x, 2 ** z - 1 - y);
        return bytes ? { bytes, mediaType: MEDIA_TYPES[metadata.format ?? ''] ?? null } : null;
      }),
    metadata: ({ signal }) => attempt(signal, () => withJson(file.current().tables.metadata)),
    close: async () => file.close(),
  };
}

/** The format of its tiles, e.g. `image/png`; null: unreadable or unsupported. */
export function mbtilesFormat(path: string, clock: Clock): string | null {
  const file = openSqliteFile(path, clock, prepare);
  try {
    return MEDIA_TYPES[file.current().tables.metadata.format ?? ''] ?? null;
  } catch {
    return null;
  } finally {
    file.close();
  }
}

function prepare(db: SqliteDatabase) {
  const find = db
    .prepare<[number, number, number], Buffer>(
      'SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?',
    )
    .pluck();
  const rows = db.prepare<[], { name: string; value: string }>('SELECT name, value FROM metadata').all();
  const metadata: Record<string, string> = Object.fromEntries(
    rows.map(({ name, value }) => [name, String(value)]),
  );
  return { find, metadata };
}

/** MBTiles 1.3: `json` contains `vector_layers`. */
function withJson({ json, ...metadata }: Readonly<Record<string, string>>): Record<string, unknown> {
  if (json === undefined) return metadata;
  try {
    return { ...metadata, ...(JSON.parse(json) as object) };
  } catch {
    return metadata;
  }
}
