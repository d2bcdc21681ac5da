import { closeSync, fsyncSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { copySqlite } from '../../db/sqlite/copy-sqlite.ts';
import { hasCode } from '../../lib/error-code.ts';
import { storeFailure } from '../index/index-failure.ts';
import { indexPath, removeIndex } from '../index/index-file.ts';
import type { BackupResult, BackupTools } from '../store-driver.ts';
import { openSegmentIndex } from './open-segment-index.ts';
import { type SegmentFile, segmentFiles, segmentPath } from './segment-files.ts';

interface NamedSegment extends SegmentFile {
  readonly size: number;
}

const CHUNK_BYTES = 1024 ** 2;
/** Segments are compacted while the index is copied; more often than this is no coincidence. */
const ATTEMPTS = 20;

/**
 * Copies a store while processes write to it. The index is copied as of one moment; bytes are in their segments before a row
 * names them, and segments are held open from before that moment, so that every row of the copy names bytes that are there.
 */
export async function backUpSegments({ root, target, signal }: BackupTools): Promise<BackupResult> {
  mkdirSync(target, { recursive: true });
  let missing = new Set<number>();
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const held = new HeldSegments(root);
      try {
        segmentFiles(root).forEach(held.open);
        copySqlite(indexPath(root), indexPath(target));
        const named = namedSegments(target);
        const absent = named.filter((file) => !held.open(file)).map(({ segment }) => segment);
        // One that was missing before has not been compacted in between: its bytes are lost in the store itself.
        if (absent.every((segment) => missing.has(segment)))
          return await copyAll(named, held, target, signal);
        missing = new Set(absent);
        removeIndex(indexPath(target));
      } finally {
        held.close();
      }
    }
  } catch (error) {
    throw storeFailure(error, root);
  }
  throw new Error('Segments are compacted as often as the index is copied.');
}

/** Segments that can be read although another process removes them. */
class HeldSegments {
  readonly #root: string;
  readonly #descriptors = new Map<number, number>();

  constructor(root: string) {
    this.#root = root;
  }

  /** False: it is not there. */
  readonly open = ({ set, segment }: SegmentFile): boolean => {
    if (this.#descriptors.has(segment)) return true;
    try {
      this.#descriptors.set(segment, openSync(segmentPath(this.#root, set, segment), 'r'));
      return true;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
  };

  descriptor(segment: number): number | undefined {
    return this.#descriptors.get(segment);
  }

  close(): void {
    for (const descriptor of this.#descriptors.values()) closeSync(descriptor);
  }
}

function namedSegments(root: string): readonly NamedSegment[] {
  const db = openSegmentIndex(root, { timeoutMs: 0, checkpointPages: 0 });
  try {
    return db
      .prepare<[], NamedSegment>(
        `SELECT id AS segment, tile_set AS "set", size FROM segments WHERE live > 0
           AND tile_set IN (SELECT id FROM tile_sets WHERE dropped_at IS NULL)`,
      )
      .all();
  } finally {
    db.close();
  }
}

async function copyAll(
  named: readonly NamedSegment[],
  held: HeldSegments,
  target: string,
  signal: AbortSignal,
): Promise<BackupResult> {
  let [files, bytes] = [0, 0];
  for (const { set, segment, size } of named) {
    const from = held.descriptor(segment);
    if (from === undefined) continue;
    await copyStart(from, segmentPath(target, set, segment), size, signal);
    files += 1;
    bytes += size;
  }
  return { files, bytes };
}

async function copyStart(from: number, path: string, size: number, signal: AbortSignal): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const to = openSync(path, 'wx');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0; at < size; ) {
      signal.throwIfAborted();
      const read = readSync(from, chunk, 0, Math.min(CHUNK_BYTES, size - at), at);
      // A file that has lost its end: its last tiles are not shown in the store itself either.
      if (read === 0) break;
      writeFileSync(to, chunk.subarray(0, read));
      at += read;
      await nextTurn();
    }
    fsyncSync(to);
  } finally {
    closeSync(to);
  }
}
