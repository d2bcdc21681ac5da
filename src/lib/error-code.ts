/** The code of an error of Node.js, SQLite or PostgreSQL, e.g. `ENOENT`; null for others. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(errorCode(error) ?? '');
}

const NO_ROOM = ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'ENOSPC', 'EDQUOT'];

/** The disk is full, or the user's share of it. */
export function isNoRoom(error: unknown): boolean {
  return hasCode(error, ...NO_ROOM);
}

/** A dependency of this process does not respond now, and may later. The message may be shown to any caller. */
export class UnavailableError extends Error {}
