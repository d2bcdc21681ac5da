import Database from 'better-sqlite3';
import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import { hasCode, isNoRoom } from '../../lib/error-code.ts';

/** For the log, once for each damaged file. */
export const DAMAGE_MESSAGE = 'moved a damaged bundle aside for a day; its tiles will be created again';

/** Another connection holds what this one needs, for the moment. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error).startsWith('SQLITE_BUSY');
}

/** The file is not, or no longer, a bundle. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) return true;
  return code === 'SQLITE_ERROR' && error instanceof Error && error.message.startsWith('no such table');
}

/** With the path of the file. */
export class DamagedBundle extends Error {
  readonly path: string;

  private constructor(path: string, cause: Error) {
    super(cause.message, { cause });
    this.name = 'DamagedBundle';
    this.path = path;
  }

  /** The error itself if it is not damage. */
  static if(error: unknown, path: string): unknown {
    return error instanceof Error && isDamage(error) ? new DamagedBundle(path, error) : error;
  }
}

/** The disk takes neither a write nor a log beside the file: no room, no permission, no descriptors left. */
export function isRefused(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')) return true;
  return isNoRoom(error) || hasCode(error, 'EROFS', 'EACCES', 'EPERM');
}

export function storeFailure(error: unknown): TilewardenError {
  if (isTilewardenError(error)) return error;
  if (isNoRoom(error))
    return new TilewardenError('store-full', 'The disk of the tile store is full.', { cause: error });
  return new TilewardenError('store-failed', 'The tile store failed.', { cause: error });
}

function sqliteCode(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : '';
}
