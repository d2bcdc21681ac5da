import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import { type Archive, archiveFailure, archiveUnavailable, VECTOR_TILE } from './archive.ts';

/** MBTiles 1.3: the values of `format`. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  pbf: VECTOR_TILE,
  mvt: VECTOR_TILE,
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};
const LOOK_AGAIN_MS = 1000;
/** For which everything stands still while another program writes to the file. */
const LOCK_TIMEOUT_MS = 50;

interface OpenFile {
  readonly db: Database.Database;
  readonly find: Database.Statement<[number, number, number], Buffer>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Another one when the file has been replaced or written to. */
  readonly stamp: string;
  lookedAt: number;
}

/** A file in the format MBTiles. */
export function openMbtiles(path: string, clock: Clock): Archive {
  const file = openMbtilesFile(path, clock);
  // MBTiles 1.3: rows count from the bottom, as in TMS.
  return { ...file, tile: (z, x, y, access) => file.tile(z, x, 2 ** z - 1 - y, access) };
}

/** Its rows are those of the file. It is opened when first needed, and again after it has been replaced. */
export function openMbtilesFile(path: string, clock: Clock): Archive {
  let open: OpenFile | null = null;

  function file(): OpenFile {
    if (open && clock.monotonic() - open.lookedAt < LOOK_AGAIN_MS) return open;
    const stamp = stampOf(path);
    if (open?.stamp !== stamp) {
      open?.db.close();
      open = null;
      open = openFile(path, stamp, clock.monotonic());
    }
    open.lookedAt = clock.monotonic();
    return open;
  }

  async function attempt<T>(signal: AbortSignal, read: () => T): Promise<T> {
    signal.throwIfAborted();
    try {
      return read();
    } catch (error) {
      throw archiveFailure(error, signal);
    }
  }

  return {
    tile: (z, x, row, { signal }) =>
      attempt(signal, () => {
        const { find, metadata } = file();
        const bytes = find.get(z, x, row);
        return bytes ? { bytes, mediaType: MEDIA_TYPES[metadata.format ?? ''] ?? null } : null;
      }),
    metadata: ({ signal }) => attempt(signal, () => withJson(file().metadata)),
    async close() {
      open?.db.close();
      open = null;
    },
  };
}

function stampOf(path: string): string {
  const status = statSync(path);
  // The library would wait for the other end of a pipe.
  if (!status.isFile()) throw new Error(`${path} is not a file`);
  const { ino, size, mtimeMs } = status;
  return `${ino} ${size} ${mtimeMs}`;
}

function openFile(path: string, stamp: string, lookedAt: number): OpenFile {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: LOCK_TIMEOUT_MS });
  try {
    const find = db
      .prepare<[number, number, number], Buffer>(
        'SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?',
      )
      .pluck();
    const rows = db.prepare<[], { name: string; value: string }>('SELECT name, value FROM metadata').all();
    const metadata = Object.fromEntries(rows.map(({ name, value }) => [name, String(value)]));
    return { db, find, metadata, stamp, lookedAt };
  } catch (error) {
    db.close();
    throw archiveUnavailable(error);
  }
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
