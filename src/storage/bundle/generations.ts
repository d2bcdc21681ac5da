import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { BundleLayout } from './bundle-layout.ts';
import { isNodeError } from './node-error.ts';

/** Milliseconds a writer waits for writers of other processes. */
export const WRITER_PATIENCE = 15_000;

/** The generation of each layer, shared by all processes on the store. */
export interface Generations {
  read(layer: string): number;
  /** Durable when it returns, and seen by every later `read` in any process. */
  raise(layer: string): number;
  close(): void;
}

/**
 * Kept with a rollback journal, not with a log as bundles are: reading it needs no second file, so that a store opens
 * on a disk that is full or may only be read. `patience` is how many milliseconds a call may block its thread.
 */
export function openGenerations(layout: BundleLayout, patience: number): Generations {
  if (!existsSync(layout.generations)) makeFile(layout);
  const db = new Database(layout.generations, { fileMustExist: true, timeout: patience });
  // Here each commit is synced: an acknowledged truncation outlives a power cut.
  db.pragma('synchronous = FULL');
  // The emptied journal is synced too: a deleted one might be back after a power cut, and undo what was acknowledged.
  db.pragma('journal_mode = TRUNCATE');
  const select = db.prepare<[string], number>('SELECT number FROM generation WHERE layer = ?').pluck();
  const upsert = db
    .prepare<[string], number>(
      'INSERT INTO generation VALUES (?, 1) ON CONFLICT (layer) DO UPDATE SET number = number + 1 RETURNING number',
    )
    .pluck();
  return {
    read: (layer) => select.get(JSON.stringify(layer)) ?? 0,
    raise: (layer) => upsert.get(JSON.stringify(layer)) ?? 0,
    close: () => db.close(),
  };
}

/** Whole from the first moment another process can see it, as with bundles. */
function makeFile(layout: BundleLayout): void {
  const path = join(layout.making, `${randomUUID()}.sqlite`);
  mkdirSync(layout.making, { recursive: true });
  const db = new Database(path);
  try {
    db.pragma('synchronous = FULL');
    db.exec('CREATE TABLE generation (layer TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID');
    db.close();
    linkSync(path, layout.generations);
    syncFolderNow(dirname(layout.generations));
  } catch (error) {
    if (!isNodeError(error, 'EEXIST')) throw error;
  } finally {
    db.close();
    rmSync(path, { force: true });
  }
}

/** What was made or moved in the folder is there after a power cut too. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function syncFolderNow(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
