/**
 * The socket at which the primary listens for its HTTP processes, `http.sock` in the data folder. Where that path is too long for
 * a socket, it is a link to one in a new folder of the system's temporary folder, which only the server's own user can enter.
 */
import { mkdtemp, readlink, rm, rmdir, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hasCode } from '../lib/error-code.ts';

const FILE = 'http.sock';
/** unix(7): a path has at most 107 bytes. */
const MAX_PATH_BYTES = 100;

/** For the primary. Removes what a former run left behind; `close` removes the rest. */
export async function openProcessSocket(data: string) {
  const path = join(data, FILE);
  const close = async () => {
    const target = await linkedFrom(path);
    await rm(path, { force: true });
    if (target === null) return;
    await rm(target, { force: true });
    await rmdir(dirname(target)).catch(() => {});
  };
  await close();
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, close };
  // Its name cannot be known before, and its mode is 0700.
  const folder = await mkdtemp(join(shortFolder(), 'tilewarden-'));
  await symlink(join(folder, FILE), path);
  return { path: join(folder, FILE), close };
}

/** `TMPDIR` may be long too. */
function shortFolder(): string {
  return Buffer.byteLength(tmpdir()) < MAX_PATH_BYTES / 2 ? tmpdir() : '/tmp';
}

/** For an HTTP process, which the primary has started. */
export async function findProcessSocket(data: string): Promise<string> {
  const path = join(data, FILE);
  return (await linkedFrom(path)) ?? path;
}

/** Null: it is not there, or not a link. */
async function linkedFrom(path: string): Promise<string | null> {
  return readlink(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'EINVAL')) return null;
    throw error;
  });
}
