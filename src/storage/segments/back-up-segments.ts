import { closeSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { copySqlite } from '../../db/sqlite/copy-sqlite.ts';
import { storeFailure } from '../index/index-failure.ts';
import { indexPath, removeIndex } from '../index/index-file.ts';
import type { BackupResult, BackupTools } from '../store-driver.ts';
import {
  openSegmentIndex,
  requireFolder,
  type SegmentFile,
  SegmentReader,
  segmentPath,
} from './segment-files.ts';

interface NamedSegment extends SegmentFile {
  readonly size: number;
}

/** Copies of segments by number; `size` is what has been copied. */
type Copies = Map<number, NamedSegment>;

const CHUNK_BYTES = 1024 ** 2;
/** Each attempt has less to copy than the one before, so more of them indicate a bug. */
const ATTEMPTS = 20;

/**
 * Copies a store while processes write to it: the index as of one moment, then the bytes that it names. If a segment was
 * compacted in between, its tiles are in other segments: the index is copied again, then the bytes appended since.
 */
export async function backUpSegments(
  { root, target, signal }: BackupTools,
  copyIndex = copySqlite,
): Promise<BackupResult> {
  requireFolder(target, () => []);
  const copies: Copies = new Map();
  let missing = new Set<number>();
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      copyIndex(indexPath(root), indexPath(target));
      const named = namedSegments(target);
      const absent: number[] = [];
      for (const file of named)
        if (!(await copyRest(root, target, file, copies, signal))) absent.push(file.segment);
      // A segment that a second index names in vain was not compacted: the store itself has lost its bytes.
      if (absent.every((segment) => missing.has(segment))) return onlyNamed(target, named, copies);
      missing = new Set(absent);
      removeIndex(indexPath(target));
    }
  } catch (error) {
    throw storeFailure(error, root);
  }
  throw new Error('Segments are compacted as often as the index is copied.');
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

/** Appends to the copy of a segment up to `size`; earlier bytes never change. False if the segment is missing. */
async function copyRest(
  root: string,
  target: string,
  { set, segment, size }: NamedSegment,
  copies: Copies,
  signal: AbortSignal,
): Promise<boolean> {
  const begun = copies.get(segment)?.size;
  if (begun !== undefined && begun >= size) return true;
  const from = new SegmentReader(root, 1);
  try {
    if (!from.has({ set, segment })) return false;
    const path = segmentPath(target, set, segment);
    mkdirSync(dirname(path), { recursive: true });
    const to = openSync(path, begun === undefined ? 'wx' : 'r+');
    try {
      for (let at = begun ?? 0; at < size; ) {
        signal.throwIfAborted();
        const chunk = from.readSome(set, segment, at, Math.min(CHUNK_BYTES, size - at));
        // The file has lost its end; readers do not see its last tiles in the store itself either.
        if (chunk.length === 0) break;
        at += writeSync(to, chunk, 0, chunk.length, at);
        await nextTurn();
      }
      fsyncSync(to);
    } finally {
      closeSync(to);
    }
    copies.set(segment, { set, segment, size });
    return true;
  } finally {
    from.close();
  }
}

/** Removes copies of segments that were compacted in the meantime. */
function onlyNamed(target: string, named: readonly NamedSegment[], copies: Copies): BackupResult {
  let bytes = 0;
  const unnamed = new Map(copies);
  for (const { segment } of named) {
    bytes += copies.get(segment)?.size ?? 0;
    unnamed.delete(segment);
  }
  for (const { set, segment } of unnamed.values()) rmSync(segmentPath(target, set, segment));
  return { files: copies.size - unnamed.size, bytes };
}
