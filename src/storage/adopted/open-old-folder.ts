import { closeSync, constants, fstatSync, open, read, readlinkSync, realpath } from 'node:fs';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { TilewardenError } from '../../domain/errors.ts';
import { errorCode } from '../../lib/error-code.ts';
import type { OldCache, OldTile } from '../old-cache.ts';
import type { Adoption, FolderAdoptOptions } from './adopt-options.ts';
import { oldTilePaths } from './old-tile-paths.ts';

interface OldFolderOwner {
  /** The layer's name. */
  readonly layer: string;
  /** Its first grid set. */
  readonly gridSet: string;
}

// Several times cheaper than their counterparts in `fs/promises`.
const realPathOf = promisify(realpath.native);
const openFile = promisify(open);

/** A pipe with nobody at its other end must not hold us up; nor is a link followed that came after the look. */
const PLAINLY = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
/** Bytes; far more than any tile has. */
const MOST_BYTES = 32 * 1024 ** 2;
/** Nothing of that name, or something else than a path or file is needed to be. */
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EISDIR']);

/** Nothing is read, and the folder need not be there, before the first tile is asked for. */
export function openOldFolder(
  options: FolderAdoptOptions & Pick<Adoption, 'within'>,
  { layer, gridSet }: OldFolderOwner,
): OldCache {
  let root: string | null = null;

  /** Where the folder really is: what lies elsewhere is not looked at. */
  async function findRoot(): Promise<string> {
    const real = await realPathOf(options.folder);
    await refuseElsewhere(real, options.within);
    return real;
  }

  async function readAt(path: string): Promise<OldTile | null> {
    try {
      root ??= await findRoot();
      return await readBelow(root, join(root, path));
    } catch (error) {
      if (root !== null && NOT_THERE.has(errorCode(error) ?? '')) return null;
      throw new TilewardenError('store-failed', 'An adopted folder could not be read.', { cause: error });
    }
  }

  return {
    async read(asked) {
      for (const path of oldTilePaths(options, asked, layer, gridSet)) {
        const found = await readAt(path);
        if (found) return found;
      }
      return null;
    },
    async close() {},
  };
}

/** Throws when `real` lies in none of the folders. */
export async function refuseElsewhere(real: string, within: readonly string[] | null): Promise<void> {
  if (within === null) return;
  for (const folder of within) {
    const allowed = await realPathOf(folder).catch(() => null);
    if (allowed !== null && (real === allowed || isBelow(real, allowed))) return;
  }
  throw new Error(`${real} lies in none of the folders that adoptFolders names.`);
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/**
 * Null for what lies elsewhere, is no plain file, is empty, or ended before its length. Only what may wait for a disk
 * leaves the thread: of an open file place and status are known, and closing what was read writes nothing.
 */
async function readBelow(folder: string, path: string): Promise<OldTile | null> {
  const file = await openBelow(folder, path);
  if (file === null) return null;
  try {
    const status = fstatSync(file);
    if (!status.isFile() || status.size === 0 || status.size > MOST_BYTES) return null;
    const bytes = Buffer.allocUnsafeSlow(status.size);
    return (await fill(file, bytes)) ? { bytes, changedAt: status.mtimeMs } : null;
  } finally {
    closeSync(file);
  }
}

/** The system says where an open file lies, which costs less than to follow its path, and no link can change it any more. */
async function openBelow(folder: string, path: string): Promise<number | null> {
  const file = await openFile(path, PLAINLY).catch(nullIfLink);
  const place = file === null ? null : placeOfOpen(file);
  if (place !== null && isBelow(place, folder)) return file;
  if (file !== null) closeSync(file);
  if (place !== null) return null;
  const real = await realPathOf(path);
  return isBelow(real, folder) ? openFile(real, PLAINLY) : null;
}

function nullIfLink(error: NodeJS.ErrnoException): null {
  if (error.code === 'ELOOP') return null;
  throw error;
}

/** Null where the system does not say it. */
function placeOfOpen(file: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return null;
  }
}

async function fill(file: number, bytes: Buffer): Promise<boolean> {
  for (let at = 0; at < bytes.length; ) {
    const count = await readSome(file, bytes, at);
    if (count === 0) return false;
    at += count;
  }
  return true;
}

function readSome(file: number, bytes: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(file, bytes, at, bytes.length - at, at, (error, count) => (error ? reject(error) : resolve(count)));
  });
}
