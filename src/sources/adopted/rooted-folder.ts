import { closeSync, constants, fstatSync, open, read, readlinkSync, realpath, stat } from 'node:fs';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { TilewardenError } from '../../domain/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { errorCode } from '../../lib/error-code.ts';
import type { OldCache, OldTile } from '../old-cache.ts';
import type { Adoption, FolderAdoptOptions } from './adopt-options.ts';
import { oldTilePaths } from './old-tile-paths.ts';

// Several times cheaper than their counterparts in `fs/promises`.
const realPathOf = promisify(realpath.native);
const openFile = promisify(open);
const readFile = promisify(read);
const statusOf = promisify(stat);

/** A pipe without a writer must not block; a link that is created after the check must not be followed. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
/** Errors for a missing file, or for something other than a file. */
const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'EISDIR']);

export interface OpenedFile {
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  /** Null: the file is shorter. */
  part(offset: number, length: number): Promise<Buffer | null>;
}

export type RootedFolder = ReturnType<typeof openRootedFolder>;

/**
 * A folder of another program. Files that are outside it once links are followed are not read. It may be missing until
 * the first read.
 */
export function openRootedFolder({ folder, within }: { folder: string } & Pick<Adoption, 'within'>) {
  let root: string | null = null;

  async function findRoot(): Promise<string> {
    const real = await realPathOf(folder);
    await refuseElsewhere(real, within);
    return real;
  }

  async function inRoot<T>(find: (root: string) => Promise<T | null>): Promise<T | null> {
    try {
      root ??= await findRoot();
      return await find(root);
    } catch (error) {
      if (root !== null && NOT_THERE.has(errorCode(error) ?? '')) return null;
      throw new TilewardenError('store-failed', 'An adopted folder could not be read.', { cause: error });
    }
  }

  return {
    /** Null: no plain file, or `use` returns null. Throws `store-failed` when the folder cannot be read. */
    read: <T>(path: string, use: (file: OpenedFile) => Promise<T | null>): Promise<T | null> =>
      inRoot((real) => withFile(real, join(real, path), use)),
    /** The real path of a plain file; null and failures as for `read`. */
    locate: (path: string): Promise<string | null> =>
      inRoot(async (real) => {
        const place = await realPathOf(join(real, path));
        return isBelow(place, real) && (await statusOf(place)).isFile() ? place : null;
      }),
  };
}

/** The real path of one file, found by the first call. Throws `store-failed`. */
export function locateFile(file: string, within: Adoption['within']): () => Promise<string> {
  let path: string | null = null;
  return async () => {
    try {
      const real = path ?? (await realPathOf(file));
      if (path === null) await refuseElsewhere(real, within);
      path = real;
      return real;
    } catch (cause) {
      throw unreadable(cause);
    }
  };
}

export function unreadable(cause: unknown): TilewardenError {
  return new TilewardenError('store-failed', 'An adopted file could not be read.', { cause });
}

/** Throws if `real` is in none of the folders. */
async function refuseElsewhere(real: string, within: readonly string[] | null): Promise<void> {
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
 * Only calls that may wait for a disk are asynchronous: path and status of an open file are in memory, and closing a
 * file that was only read writes nothing.
 */
export async function withFile<T>(
  folder: string,
  path: string,
  use: (file: OpenedFile) => Promise<T | null>,
): Promise<T | null> {
  const file = await openBelow(folder, path);
  if (file === null) return null;
  try {
    const status = fstatSync(file);
    if (!status.isFile()) return null;
    return await use({
      size: status.size,
      changedAt: status.mtimeMs,
      part: (offset, length) => readPart(file, offset, length),
    });
  } finally {
    closeSync(file);
  }
}

/** Checks the path of the open file: this costs less than resolving links first, and no later link can change it. */
async function openBelow(folder: string, path: string): Promise<number | null> {
  const file = await openFile(path, READ_FLAGS).catch(nullIfLink);
  const place = file === null ? null : placeOfOpen(file);
  if (place !== null && isBelow(place, folder)) return file;
  if (file !== null) closeSync(file);
  if (place !== null) return null;
  const real = await realPathOf(path);
  return isBelow(real, folder) ? openFile(real, READ_FLAGS) : null;
}

function nullIfLink(error: NodeJS.ErrnoException): null {
  if (error.code === 'ELOOP') return null;
  throw error;
}

/** Null on systems without /proc. */
function placeOfOpen(file: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${file}`);
  } catch {
    return null;
  }
}

async function readPart(file: number, offset: number, length: number): Promise<Buffer | null> {
  const bytes = Buffer.allocUnsafeSlow(length);
  const { bytesRead } = await readFile(file, bytes, 0, length, offset);
  return bytesRead === length ? bytes : null;
}

/** Bytes; far more than any tile has. */
export const MAX_TILE_BYTES = 32 * 1024 ** 2;

export interface OldCacheOwner {
  readonly layer: string;
  /** Its first grid set. */
  readonly gridSet: string;
}

export interface OldCacheTools {
  readonly clock: Clock;
  /** Reads from a bucket of `adoptBuckets`; null: it has no such object. Throws `store-failed`. */
  readonly readObject: (
    bucket: string,
    key: string,
  ) => Promise<{ readonly bytes: Buffer; readonly modifiedAt: number } | null>;
}

/** A folder, or a bucket, with a file for each tile. It may be missing until the first read. */
export function openOldFolder(
  options: FolderAdoptOptions & Pick<Adoption, 'within'>,
  { layer, gridSet }: OldCacheOwner,
  { readObject }: Pick<OldCacheTools, 'readObject'>,
): OldCache {
  const { bucket } = options;
  const folder = openRootedFolder(options);
  const keys = options.folder.split('/').filter((name) => name !== '');
  const read = async (path: string): Promise<OldTile | null> => {
    if (bucket === undefined) return folder.read(path, wholeTile);
    const object = await readObject(bucket, [...keys, path].join('/'));
    return object && object.bytes.length > 0 ? { bytes: object.bytes, changedAt: object.modifiedAt } : null;
  };
  return {
    async read(request) {
      for (const path of oldTilePaths(options, request, layer, gridSet)) {
        const tile = await read(path);
        if (tile) return tile;
      }
      return null;
    },
    async close() {},
  };
}

/** Null if the file is empty or shorter than expected. */
async function wholeTile({ size, changedAt, part }: OpenedFile): Promise<OldTile | null> {
  const bytes = size === 0 || size > MAX_TILE_BYTES ? null : await part(0, size);
  return bytes && { bytes, changedAt };
}
