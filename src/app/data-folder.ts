import { sep } from 'node:path';
import { warnOfOpenFolder } from '../access/open-accounts.ts';
import { openDataFolderLock } from '../db/data-folder-lock.ts';
import { misconfigured, TilewardenError } from '../domain/errors.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import { errorCode, hasCode, isNoRoom } from '../lib/error-code.ts';
import type { Logger } from '../lib/logger.ts';
import { makeFolder } from '../lib/make-folder.ts';

/** Only the owner and the group may read the data folder. */
const DATA_FOLDER_MODE = 0o750;

export async function openDataFolder(data: string, log: Logger, open: ClosingStack): Promise<void> {
  makeFolder(data, DATA_FOLDER_MODE);
  await warnOfOpenFolder(data, log);
  const lock = openDataFolderLock(data);
  if (lock) return void open.use(lock);
  throw new TilewardenError(
    'data-folder-in-use',
    `The data folder ${data} is in use by another Tilewarden server. Stop that one, or choose another folder with --data.`,
  );
}

/** Turns a system error about the data folder at a start into one line for the administrator. */
export async function explainingDataFaults<Opened>(
  data: string,
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    const fault = dataFault(error, data);
    throw fault === null ? error : misconfigured(`${fault} Choose another folder with --data.`, error);
  }
}

function dataFault(error: unknown, data: string): string | null {
  if (isNoRoom(error)) return `The disk of the data folder ${data} is full: free some space.`;
  if (!concerns(error, data)) return null;
  if (hasCode(error, 'EEXIST', 'ENOTDIR')) return `The data folder ${data} is a file, or below one.`;
  if (hasCode(error, 'ENOENT')) return `The data folder ${data} cannot be created.`;
  if (!/^(EROFS|EACCES|EPERM|SQLITE_READONLY|SQLITE_CANTOPEN)/.test(errorCode(error) ?? '')) return null;
  return `The data folder ${data} cannot be written: its disk is read-only, or this user may not.`;
}

/** Errors of SQLite have no path; the databases that a start opens are in the data folder. */
function concerns(error: unknown, data: string): boolean {
  if (errorCode(error)?.startsWith('SQLITE_')) return true;
  const path = error instanceof Error && 'path' in error ? `${String(error.path)}${sep}` : '';
  return path !== '' && (path.startsWith(`${data}${sep}`) || data.startsWith(path));
}
