import type { Clock } from '../../lib/clock.ts';
import { openSqliteFile, type SqliteDatabase } from '../sqlite-file.ts';
import { type Archive, archiveFailure, VECTOR_TILE } from './archive.ts';

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
    tile: (z, x, y, { signal }) =>
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

/** The format of its tiles, e.g. `image/png`; null: it cannot be read, or has another one. */
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

/** MBTiles 1.3: `json` holds `vector_layers`. */
function withJson({ json, ...metadata }: Readonly<Record<string, string>>): Record<string, unknown> {
  if (json === undefined) return metadata;
  try {
    return { ...metadata, ...(JSON.parse(json) as object) };
  } catch {
    return metadata;
  }
}
