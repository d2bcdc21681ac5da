import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writevSync,
} from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../lib/error-code.ts';
import type { BytePlace } from '../bytes.ts';

/** Bytes at which a segment is full. Offsets have 32 bits. */
export const SEGMENT_BYTES = 256 * 1024 ** 2;

export function segmentsFolder(root: string): string {
  return join(root, 'segments');
}

export function setFolder(root: string, set: number): string {
  return join(segmentsFolder(root), `${set}`);
}

export function segmentPath(root: string, set: number, segment: number): string {
  return join(setFolder(root, set), `${segment}.tiles`);
}

/** A segment that this process appends to. No other process ever does. */
export interface OpenSegment {
  readonly set: number;
  readonly segment: number;
  readonly descriptor: number;
  size: number;
}

/** Null: there is a file of this number already, of an index that was replaced by an older one. */
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

/** The segments on the disk, in the order of their numbers. */
export function segmentFiles(root: string): readonly SegmentFile[] {
  const names = existsSync(segmentsFolder(root))
    ? readdirSync(segmentsFolder(root), { recursive: true, encoding: 'utf8' })
    : [];
  const found = names.flatMap((name) => {
    const [, set, segment] = /^(\d+)[\\/](\d+)\.tiles$/.exec(name) ?? [];
    return set && segment ? [{ set: Number(set), segment: Number(segment) }] : [];
  });
  return found.sort((a, b) => a.segment - b.segment);
}

/** The greatest number of any segment on the disk; 0: there is none. */
export function greatestSegment(root: string): number {
  return segmentFiles(root).at(-1)?.segment ?? 0;
}

/**
 * Appends all of it, or throws; the next call writes over what a failed one has written, so that only the last record of a
 * segment can be a part. Returns where it begins.
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

/** Milliseconds since 1970; infinite: it is gone. */
export function modifiedAt(root: string, { set, segment }: SegmentFile): number {
  const found = statSync(segmentPath(root, set, segment), { throwIfNoEntry: false });
  return found?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

export function removeSegment(root: string, set: number, segment: number): void {
  rmSync(segmentPath(root, set, segment), { force: true });
}

/** With whatever is in it. */
export function removeSetFolder(root: string, set: number): void {
  rmSync(setFolder(root, set), { recursive: true, force: true });
}

/** Segments that are open for reading. One whose file was removed can be read until it is closed. */
export class SegmentReader {
  readonly #root: string;
  readonly #maxOpen: number;
  readonly #open = new Map<number, { readonly descriptor: number; usedAt: number }>();

  constructor(root: string, maxOpen: number) {
    this.#root = root;
    this.#maxOpen = maxOpen;
  }

  /** Null: the file is not there, or ends before. */
  read(set: number, { segment, offset, length }: BytePlace, now: number): Buffer | null {
    const descriptor = this.#descriptor(set, segment, now);
    if (descriptor === null) return null;
    const bytes = Buffer.allocUnsafeSlow(length);
    return readSync(descriptor, bytes, 0, length, offset) === length ? bytes : null;
  }

  /** Up to `length` bytes. */
  readSome(set: number, segment: number, offset: number, length: number, now: number): Buffer {
    const descriptor = this.#descriptor(set, segment, now);
    if (descriptor === null) return Buffer.alloc(0);
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset));
  }

  /** Gives removed files back to the file system, too. */
  closeIdle(before: number): void {
    for (const [segment, { descriptor, usedAt }] of this.#open) {
      if (usedAt >= before) continue;
      this.#open.delete(segment);
      closeSync(descriptor);
    }
  }

  close(): void {
    this.closeIdle(Number.POSITIVE_INFINITY);
  }

  #descriptor(set: number, segment: number, now: number): number | null {
    const known = this.#open.get(segment);
    if (known) {
      known.usedAt = now;
      return known.descriptor;
    }
    try {
      const descriptor = openSync(segmentPath(this.#root, set, segment), 'r');
      if (this.#open.size >= this.#maxOpen) this.#closeHalf();
      this.#open.set(segment, { descriptor, usedAt: now });
      return descriptor;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  #closeHalf(): void {
    const times = Array.from(this.#open.values(), ({ usedAt }) => usedAt).sort((a, b) => a - b);
    this.closeIdle((times[Math.floor(times.length / 2)] ?? 0) + 1);
  }
}
