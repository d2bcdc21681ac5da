import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createIndex } from '../../db/migrations/create-index.ts';
import { misconfigured } from '../../domain/errors.ts';
import { hasCode } from '../../lib/error-code.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { noIndex } from './index-failure.ts';

export type IndexFile = Database.Database;

export interface IndexOptions {
  /** Milliseconds for which a call may block its thread. */
  readonly timeoutMs: number;
  /** Pages of the log after which a commit of this connection copies them into the file; 0: never. */
  readonly checkpointPages: number;
}

const NAME = 'index.sqlite';
/** Raised when the tables change. */
const INDEX_VERSION = 1;

export function indexPath(root: string): string {
  return join(root, NAME);
}

/**
 * Opens the index, which is created if missing; `readonly` in a folder that cannot be written to. Commits survive the end
 * of the process; only those within `durably` surely survive a power cut.
 */
export function openIndexFile(root: string, options: IndexOptions): IndexFile {
  const path = indexPath(root);
  if (!existsSync(path)) createIndexFile(root, path);
  const timeout = options.timeoutMs;
  try {
    return configure(new Database(path, { fileMustExist: true, timeout }), path, options);
  } catch (error) {
    if (!isReadOnly(root)) throw error;
    return configure(openCopy(path), path, options);
  }
}

function configure(db: IndexFile, path: string, { checkpointPages }: IndexOptions): IndexFile {
  try {
    checkVersion(db, path);
    db.pragma('synchronous = NORMAL');
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return hasCode(error, 'EROFS', 'EACCES');
  }
}

/** Opens a copy, because SQLite creates files beside a database even to read it. The copy is unlinked while it is open. */
function openCopy(path: string): IndexFile {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-index-'));
  try {
    for (const end of ['', '-wal'])
      if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, join(folder, `${NAME}${end}`));
    const db = new Database(join(folder, NAME));
    db.pragma('journal_mode = DELETE');
    db.close();
    return new Database(join(folder, NAME), { readonly: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An index in the memory of this process. */
export function createMemoryIndex(): IndexFile {
  return withTables(new Database(':memory:'));
}

/** Commits of `work`, and all earlier ones of any process, are on the disk when it returns. */
export function durably<T>(db: IndexFile, work: () => T): T {
  db.pragma('synchronous = FULL');
  try {
    return work();
  } finally {
    db.pragma('synchronous = NORMAL');
  }
}

function checkVersion(db: IndexFile, path: string): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version === INDEX_VERSION) return;
  if (version === 0) throw noIndex();
  throw misconfigured(
    `${path} has version ${version} of the format, and this version of Tilewarden reads ${INDEX_VERSION}.`,
  );
}

/** Links a complete file into place. If several processes do so concurrently, one succeeds and all use its file. */
function createIndexFile(root: string, path: string): void {
  const newPath = join(root, `making-${randomUUID()}.sqlite`);
  makeFolder(root);
  try {
    newIndex(newPath).close();
    linkSync(newPath, path);
    syncFolder(root);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    removeIndex(newPath);
  }
}

/** A new file with the tables, which is synced when closed. */
export function newIndex(path: string): IndexFile {
  const db = new Database(path);
  try {
    db.pragma('synchronous = FULL');
    return withTables(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function withTables(db: IndexFile): IndexFile {
  for (const pragma of ['page_size = 4096', 'journal_mode = WAL', `user_version = ${INDEX_VERSION}`])
    db.pragma(pragma);
  for (const statement of createIndex('sqlite')) db.exec(statement);
  return db;
}

/** Removes an index and its log. */
export function removeIndex(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
}

/**
 * Replaces the index of a store by one that no process has open, and keeps the former one as `damaged-index.sqlite`. That
 * is moved before its log, so that a crash in between leaves no index rather than one without its last commits.
 */
export function replaceIndex(root: string, newPath: string): void {
  const path = indexPath(root);
  const formerPath = join(root, 'damaged-index.sqlite');
  if (existsSync(path)) removeIndex(formerPath);
  for (const end of ['', '-wal'])
    if (existsSync(`${path}${end}`)) renameSync(`${path}${end}`, `${formerPath}${end}`);
  removeIndex(path);
  syncFolder(root);
  renameSync(newPath, path);
  syncFolder(root);
}

/** Makes new and renamed files in the folder survive a power cut. Blocks the thread. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
