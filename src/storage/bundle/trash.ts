import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync } from 'node:fs';
import { lstat, opendir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { Env } from '../../lib/env.ts';
import { hasCode } from '../../lib/error-code.ts';
import { openRepeater } from '../../lib/repeat.ts';
import type { SweepingStatistics } from '../tile-store.ts';
import type { BundleLayout } from './bundle-layout.ts';

/** Bytes a file system gives for each block that `lstat` counts. */
const BLOCK_BYTES = 512;
/** Milliseconds after which something half made belongs to a process that died making it. */
const ABANDONED_AFTER = 10 * 60_000;
/** Milliseconds for which a damaged bundle is kept for inspection. */
const QUARANTINE = 86_400_000;

/** Takes a file or folder out of sight immediately, whatever its content. False when it was not there. */
export function moveToTrash(trash: string, path: string): boolean {
  mkdirSync(trash, { recursive: true });
  try {
    renameSync(path, join(trash, randomUUID()));
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

export async function measureTrash(trash: string): Promise<SweepingStatistics> {
  let files = 0;
  let bytes = 0;
  for await (const file of filesBelow(trash)) {
    files++;
    bytes += file.bytes;
  }
  return { files, bytes };
}

/** Milliseconds between sweeps without a drop, which retry failed removals. */
const SWEEP_INTERVAL = 3_600_000;

/** Gives the space of dropped tiles back in the background, one sweep at a time; `wake` starts one. */
export function openSweeper(layout: BundleLayout, bytesPerSecond: number, { clock, log }: Env) {
  const sweep = async (signal: AbortSignal) => {
    await removeOlder(layout.making, ABANDONED_AFTER, clock);
    await removeOlder(layout.damaged, QUARANTINE, clock);
    await sweepTrash(layout.trash, bytesPerSecond, clock, signal);
  };
  const failure = 'the space of dropped tiles could not be freed; the next drop retries';
  return openRepeater(sweep, { clock, log, pause: SWEEP_INTERVAL, failure });
}

/** Empties the trash of all processes, at a bounded rate. */
async function sweepTrash(
  trash: string,
  bytesPerSecond: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for await (const { name } of entriesOf(trash)) {
    const path = join(trash, name);
    for await (const { file, bytes } of filesBelow(path)) {
      await tolerateAbsence(unlink(file));
      await clock.sleep((bytes / bytesPerSecond) * 1000, signal);
    }
    await rm(path, { recursive: true, force: true });
  }
}

/** Unfinished files of a process that died, and damaged ones whose time is over. */
async function removeOlder(folder: string, age: number, clock: Clock): Promise<void> {
  for await (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    const status = await tolerateAbsence(lstat(path));
    if (status && clock.now() - Math.max(status.mtimeMs, status.ctimeMs) > age)
      await rm(path, { recursive: true, force: true });
  }
}

/** The files and the bytes that they take; the path itself if it is one. */
async function* filesBelow(path: string): AsyncGenerator<{ readonly file: string; readonly bytes: number }> {
  const status = await tolerateAbsence(lstat(path));
  if (status && !status.isDirectory()) yield { file: path, bytes: status.blocks * BLOCK_BYTES };
  if (!status?.isDirectory()) return;
  for await (const { name } of entriesOf(path)) yield* filesBelow(join(path, name));
}

/** Folders that another process sweeps at the same time count as empty. */
async function* entriesOf(folder: string) {
  const opened = await tolerateAbsence(opendir(folder));
  if (opened) yield* opened;
}

async function tolerateAbsence<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  });
}
