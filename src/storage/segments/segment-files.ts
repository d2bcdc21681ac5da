import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writevSync,
} from 'node:fs';
import { join } from 'node:path';
import { hasCode, isNoRoom } from '../../lib/error-code.ts';
import type { BytePlace } from '../bytes.ts';
import { noIndex } from '../index/index-failure.ts';
import { type IndexFile, type IndexOptions, indexPath, openIndexFile } from '../index/index-file.ts';

/** Default size of a full segment. Offsets in the index have 32 bits. */
export const SEGMENT_BYTES = 256 * 1024 ** 2;

const FOLDER = 'segments';

export function setFolder(root: string, set: number): string {
  return join(root, FOLDER, `${set}`);
}

export function segmentPath(root: string, set: number, segment: number): string {
  return join(setFolder(root, set), `${segment}.tiles`);
}

/**
 * Throws if the folder of segments lacks the file that proves that it is the store's, and not e.g. the mount point of an
 * absent disk. `named`: the segments in the index; if there are none, or one of them exists, the file is created.
 */
export function requireFolder(root: string, named?: () => readonly SegmentFile[]): void {
  const proof = join(root, FOLDER, 'tilewarden-store');
  if (existsSync(proof)) return;
  const files = named?.();
  if (files?.length === 0 || files?.some(({ set, segment }) => existsSync(segmentPath(root, set, segment)))) {
    mkdirSync(join(root, FOLDER), { recursive: true });
    writeFileSync(proof, '');
    // Checked twice, because another process may create it in between.
  } else if (!existsSync(proof))
    throw new Error(`The folder of segments is missing, or not of this index: ${proof}`);
}

/** A segment that this process appends to, and no other. */
export interface OpenSegment {
  readonly set: number;
  readonly segment: number;
  readonly descriptor: number;
  size: number;
}

/** Null if there is a file of this number: the index may have been replaced by an older one. */
export function createSegment(root: string, set: number, segment: number): OpenSegment | null {
  mkdirSync(setFolder(root, set), { recursive: true });
  try {
    return { set, segment, descriptor: openSync(segmentPath(root, set, segment), 'wx'), size: 0 };
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return null;
    throw error;
  }
}

export interface SegmentFile {
  readonly set: number;
  readonly segment: number;
}

/** The segments on the disk, sorted by number. Another process may remove the folder of a tile set in the meantime. */
export function segmentFiles(root: string): readonly SegmentFile[] {
  const folder = join(root, FOLDER);
  const found = numbersIn(folder, /^(\d+)$/).flatMap((set) =>
    numbersIn(setFolder(root, set), /^(\d+)\.tiles$/).map((segment) => ({ set, segment })),
  );
  return found.sort((a, b) => a.segment - b.segment);
}

/** Numbers in the names of a folder's entries; empty if there is no such folder. */
function numbersIn(folder: string, pattern: RegExp): readonly number[] {
  try {
    return readdirSync(folder).flatMap((name) => pattern.exec(name)?.slice(1).map(Number) ?? []);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** The greatest number of a segment on the disk; 0 if there is none. */
export function greatestSegment(root: string): number {
  return segmentFiles(root).at(-1)?.segment ?? 0;
}

/**
 * Appends all parts, or throws; returns the offset of the first. After a failure, the next call overwrites the incomplete
 * record, so that only the last record of a segment can be incomplete.
 */
export function append(segment: OpenSegment, parts: readonly Uint8Array[]): number {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const start = segment.size;
  const written = writevSync(segment.descriptor, [...parts], start);
  if (written < length) writeRest(segment, Buffer.concat(parts).subarray(written), start + written);
  segment.size += length;
  return start;
}

function writeRest({ descriptor }: OpenSegment, rest: Uint8Array, at: number): void {
  let done = 0;
  while (done < rest.length) done += writevSync(descriptor, [rest.subarray(done)], at + done);
}

/** Opens segments for reading. An open one can be read even after its file was removed. */
export class SegmentReader {
  readonly #root: string;
  readonly #maxOpen: number;
  /** Descriptors by segment, in the order of opening. */
  readonly #open = new Map<number, number>();

  constructor(root: string, maxOpen: number) {
    this.#root = root;
    this.#maxOpen = maxOpen;
  }

  /** Whether the segment exists. If so, it is opened. */
  has({ set, segment }: SegmentFile): boolean {
    return this.#descriptor(set, segment) !== null;
  }

  /** Null if the file is missing or too short. */
  read(set: number, { segment, offset, length }: BytePlace): Buffer | null {
    const descriptor = this.#descriptor(set, segment);
    if (descriptor === null) return null;
    const bytes = Buffer.allocUnsafeSlow(length);
    return readSync(descriptor, bytes, 0, length, offset) === length ? bytes : null;
  }

  /** Reads up to `length` bytes; less at the end of the file, none if it is missing. */
  readSome(set: number, segment: number, offset: number, length: number): Buffer {
    const descriptor = this.#descriptor(set, segment);
    if (descriptor === null) return Buffer.alloc(0);
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset));
  }

  /** Closes all segments, which frees the space of removed files; the next read of a segment opens it again. */
  close(): void {
    this.#closeUpTo(0);
  }

  #descriptor(set: number, segment: number): number | null {
    const known = this.#open.get(segment);
    if (known !== undefined) return known;
    try {
      const descriptor = openSync(segmentPath(this.#root, set, segment), 'r');
      this.#closeUpTo(this.#maxOpen - 1);
      this.#open.set(segment, descriptor);
      return descriptor;
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      requireFolder(this.#root);
      return null;
    }
  }

  /** Closes the segments that were opened first, until `left` are open. */
  #closeUpTo(left: number): void {
    for (const [segment, descriptor] of this.#open) {
      if (this.#open.size <= left) return;
      this.#open.delete(segment);
      closeSync(descriptor);
    }
  }
}

/** As `openIndexFile`, but does not create an index beside existing segments, whose index is lost. */
export function openSegmentIndex(root: string, options: IndexOptions): IndexFile {
  const isThere = () => existsSync(indexPath(root));
  // Checked twice, because another process may create both in between.
  if (!isThere() && greatestSegment(root) > 0 && !isThere()) throw noIndex();
  return openIndexFile(root, options);
}

const RESERVE_BYTES = 2 * 1024 ** 2;
/** Bytes that the reserve leaves free, and its minimum. */
const REST = 128 * 1024;

/** Reserved disk space, so that tiles can be removed and marks raised on a full disk. */
export class Reserve {
  readonly #path: string;
  readonly #making: string;

  constructor(root: string) {
    this.#path = join(root, 'reserve');
    this.#making = join(root, 'reserve-making');
  }

  /** With little space left, the reserve takes nearly all of it, before tiles do. */
  refill(): void {
    if (existsSync(this.#path)) return;
    try {
      const { bavail, bsize } = statfsSync(join(this.#path, '..'));
      const bytes = Math.min(RESERVE_BYTES, bavail * bsize - REST);
      if (bytes < REST) return;
      writeFileSync(this.#making, Buffer.alloc(bytes, 1));
      renameSync(this.#making, this.#path);
    } catch {
      // The disk is read-only, or full in the meantime.
      rmSync(this.#making, { force: true });
    }
  }

  use<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isNoRoom(error) || !existsSync(this.#path)) throw error;
      rmSync(this.#path, { force: true });
      return work();
    }
  }
}
