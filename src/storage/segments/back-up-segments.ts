import { closeSync, fsyncSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { copySqlite } from '../../db/sqlite/copy-sqlite.ts';
import { storeFailure } from '../index/index-failure.ts';
import { indexPath, removeIndex } from '../index/index-file.ts';
import type { BackupResult, BackupTools } from '../store-driver.ts';
import {
  openSegmentIndex,
  type SegmentFile,
  SegmentReader,
  segmentFiles,
  segmentPath,
} from './segment-files.ts';

interface NamedSegment extends SegmentFile {
  readonly size: number;
}

const CHUNK_BYTES = 1024 ** 2;
/** Segments are compacted while the index is copied; more attempts than this indicate a bug. */
const ATTEMPTS = 20;

/**
 * Copies a store while processes write to it. The index is copied as of one moment; bytes are in their segments before
 * a row names them, and segments are held open from before that moment, so that every row of the copy names existing
 * bytes.
 */
export async function backUpSegments(
  { root, target, signal }: BackupTools,
  copyIndex = copySqlite,
): Promise<BackupResult> {
  mkdirSync(target, { recursive: true });
  let missing = new Set<number>();
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const held = new SegmentReader(root, Number.POSITIVE_INFINITY);
      try {
        for (const file of segmentFiles(root)) held.has(file);
        copyIndex(indexPath(root), indexPath(target));
        const named = namedSegments(target);
        const absent = named.filter((file) => !held.has(file)).map(({ segment }) => segment);
        // A segment that was missing before was not compacted in between: its bytes are lost in the store itself.
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
  held: SegmentReader,
  target: string,
  signal: AbortSignal,
): Promise<BackupResult> {
  let [files, bytes] = [0, 0];
  for (const file of named) {
    if (!held.has(file)) continue;
    await copyStart(held, file, segmentPath(target, file.set, file.segment), signal);
    files += 1;
    bytes += file.size;
  }
  return { files, bytes };
}

async function copyStart(
  held: SegmentReader,
  { set, segment, size }: NamedSegment,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const to = openSync(path, 'wx');
  try {
    for (let at = 0; at < size; ) {
      signal.throwIfAborted();
      const chunk = held.readSome(set, segment, at, Math.min(CHUNK_BYTES, size - at));
      // A file that has lost its end: its last tiles are not shown in the store itself either.
      if (chunk.length === 0) break;
      writeFileSync(to, chunk);
      at += chunk.length;
      await nextTurn();
    }
    fsyncSync(to);
  } finally {
    closeSync(to);
  }
}
