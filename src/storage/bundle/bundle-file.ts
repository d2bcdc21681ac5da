import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import Database from 'better-sqlite3';
import { TilewardenError } from '../../domain/errors.ts';
import { tileSetId } from '../../domain/tile-key.ts';
import { hasCode } from '../../lib/error-code.ts';
import type { BundleAddress, BundleLayout } from './bundle-layout.ts';
import { WRITER_TIMEOUT_MS } from './generations.ts';
import { isBusy } from './sqlite-failure.ts';
import { moveToTrash } from './trash.ts';

export type Sqlite = Database.Database;

const EXTENSION = '.sqlite';
/** Bytes. With tiles of 1 to 20 KB less is lost at the ends of pages than with any other size. */
export const SQLITE_PAGE_BYTES = 1024;
/** Bytes of the log after which it is copied into the file. */
const CHECKPOINT_BYTES = 8 * 1024 ** 2;
/** Milliseconds. */
const BUSY_PAUSE = 2;

/** Bytes 18 and 19 of an SQLite file: 2 with a log, 1 without. */
const FORMAT_VERSIONS = { start: 18, end: 20 };
const WITHOUT_LOG = 1;

/** Of the tables below. */
export const FORMAT = 6;
/** That of version 0.2, in which tiles have neither tickets nor proofs. They get them when the bundle is written to. */
export const FORMER_FORMAT = 5;

const SCHEMA = `
  CREATE TABLE bundle (identity TEXT NOT NULL, z INTEGER NOT NULL, x INTEGER NOT NULL, y INTEGER NOT NULL);
  CREATE TABLE page (
    page INTEGER PRIMARY KEY, tiles INTEGER NOT NULL, bytes INTEGER NOT NULL, written_at INTEGER NOT NULL
  );
  CREATE TABLE tile (
    key INTEGER PRIMARY KEY, created_at INTEGER NOT NULL, checksum INTEGER NOT NULL,
    fresh_until INTEGER, validator TEXT, made_by INTEGER, ticket INTEGER NOT NULL, proof INTEGER, bytes BLOB
  );
  CREATE TABLE shared (checksum INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  PRAGMA user_version = ${FORMAT};
`;

const FROM_FORMER_FORMAT = `
  ALTER TABLE tile ADD COLUMN ticket INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tile ADD COLUMN proof INTEGER;
  PRAGMA user_version = ${FORMAT};
`;

/** In SQL, of a row of `tile`: one without bytes of its own has those that are shared under its checksum. */
export const TILE_BYTES =
  "coalesce(bytes, (SELECT s.bytes FROM shared s WHERE s.checksum = tile.checksum), x'')";
/** The same, without reading them. */
export const TILE_LENGTH =
  'coalesce(length(bytes), (SELECT length(s.bytes) FROM shared s WHERE s.checksum = tile.checksum), 0)';
/** The start of all proofs of a bundle. `folder` is the bundle's, below that of the layers. */
export function proofSeed(folder: string): number {
  return crc32(folder);
}

/**
 * Covers the place of a tile, which its checksum does not. Every step can be undone, so that another key, checksum or
 * seed alone never has the same proof. With a sign it takes four bytes in SQLite, not six.
 */
export function proofOf(seed: number, key: number, checksum: number): number {
  const placed = Math.imul(seed ^ key, 0x9e3779b1);
  return Math.imul(placed ^ (placed >>> 15) ^ checksum, 0x85ebca6b) | 0;
}

export interface CheckedTile {
  readonly bytes: Uint8Array;
  readonly checksum: number;
  /** Null for tiles of version 0.2. */
  readonly proof: number | null;
}

/** Whether a tile is what was stored at this place. */
export function isIntact({ bytes, checksum, proof }: CheckedTile, seed: number, key: number): boolean {
  return crc32(bytes) === checksum && (proof === null || proof === proofOf(seed, key, checksum));
}

/** By the first and last key, and the moment before which they were created. */
export const COUNT_RANGE = `
  SELECT count(*) AS tiles, ifnull(sum(${TILE_LENGTH}), 0) AS bytes
  FROM tile WHERE key BETWEEN ? AND ? AND created_at < ?`;

/**
 * The name of a bundle's file is never reused: a file that follows it in the same folder has another. SQLite
 * finds a file's log by its name, so a process that still holds a removed bundle can never touch its successor's.
 */
export function findBundleFile(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const name = entriesOf(folder).find((entry) => entry.endsWith(EXTENSION));
  return name === undefined ? null : `${folder}/${name}`;
}

/**
 * Makes the bundle elsewhere and moves it into its place whole, so that no other process ever sees it without its
 * tables. Of several processes that do this concurrently one succeeds; the others find that one's file.
 */
export function makeBundleFile(layout: BundleLayout, address: BundleAddress): void {
  const id = randomUUID();
  const folder = join(layout.making, id);
  mkdirSync(folder, { recursive: true });
  try {
    writeEmptyBundle(join(folder, `${id}${EXTENSION}`), address);
    mkdirSync(dirname(address.folder), { recursive: true });
    removeLeftovers(address.folder);
    renameSync(folder, address.folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw error;
  }
}

export function formatOf(db: Sqlite): unknown {
  return db.pragma('user_version', { simple: true });
}

function bringUpToDate(db: Sqlite): void {
  if (formatOf(db) !== FORMER_FORMAT) return;
  const change = () => {
    // Another process may have been first.
    if (formatOf(db) === FORMER_FORMAT) db.exec(FROM_FORMER_FORMAT);
  };
  db.transaction(change).immediate();
}

/** A bundle of another version is no damaged one: it is neither read nor removed. */
function checkFormat(db: Sqlite): void {
  const format = formatOf(db);
  // 0: a file without tables, which counts as damaged when it is read.
  if (format === FORMAT || format === FORMER_FORMAT || format === 0) return;
  throw new TilewardenError(
    'store-failed',
    `The bundle ${db.name} has format ${String(format)}, and this version of Tilewarden reads formats ${FORMER_FORMAT} and ${FORMAT}: another version has written it. Use that version, or another folder for the store.`,
  );
}

/** Out of sight immediately for every process; false when it was not there. A damaged one is kept aside for a day. */
export function removeBundleFile(layout: BundleLayout, path: string, damaged = false): boolean {
  const removed = moveToTrash(damaged ? layout.damaged : layout.trash, path);
  removeLeftovers(dirname(path));
  return removed;
}

/**
 * A bundle at rest is read without another file. One that is being written has a log, which SQLite finds by itself,
 * also for those who opened the bundle before.
 */
export function openForReading(path: string): Sqlite {
  return configured(new Database(path, { fileMustExist: true, timeout: 0 }), (db) => {
    db.pragma('cache_size = -128');
  });
}

/**
 * For a disk without room for the index that processes share while a bundle is open: no other process can use the bundle
 * until this is closed, so it is opened for one read.
 */
export function openAlone(path: string): Sqlite {
  return configured(new Database(path, { fileMustExist: true, timeout: 0 }), (db) => {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma('query_only = ON');
    db.pragma('user_version');
  });
}

/** A bundle as it is in memory. */
export interface BundleCopy {
  readonly db: Sqlite;
  readonly bytes: number;
  /** Of `copyStamp` when it was made: the copy is valid while that returns the same. */
  readonly stamp: string;
}

/**
 * For a disk that may only be read or has no inode left, where SQLite opens no file that has a log: a copy that says
 * it has none. Null when it cannot be made.
 */
export function openCopy(path: string): BundleCopy | null {
  const stamp = copyStamp(path);
  if (stamp === null) return null;
  const content = readFileSync(path);
  content.fill(WITHOUT_LOG, FORMAT_VERSIONS.start, FORMAT_VERSIONS.end);
  const db = configured(new Database(content), (copy) => {
    copy.pragma('query_only = ON');
    copy.pragma('user_version');
  });
  return { db, bytes: content.length, stamp };
}

/** Null when the file is gone, or has a log that is not empty: that is newer, and may contain a removal. */
export function copyStamp(path: string): string | null {
  const file = statSync(path, { throwIfNoEntry: false, bigint: true });
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  return file && (log?.size ?? 0) === 0 ? `${file.size} ${file.mtimeNs}` : null;
}

export function openForWriting(path: string): Sqlite {
  return configured(new Database(path, { fileMustExist: true, timeout: WRITER_TIMEOUT_MS }), (db) => {
    // Before anything is written to it.
    checkFormat(db);
    startLog(db);
    bringUpToDate(db);
    // The log is synced when it is copied into the file, not at each commit: tiles are renewable, a file is not.
    db.pragma('synchronous = NORMAL');
    db.pragma('cache_size = -2048');
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_BYTES / SQLITE_PAGE_BYTES}`);
    db.pragma(`journal_size_limit = ${CHECKPOINT_BYTES}`);
  });
}

/**
 * Committed changes survive a power cut, for readers that look for a log and for those that do not: the log is copied
 * into the file, and both are synced. Fails if a reader, such as a stopped process, uses an earlier state for too long.
 */
export function syncBundle(db: Sqlite): void {
  const begun = performance.now();
  while (performance.now() - begun < WRITER_TIMEOUT_MS) {
    const [outcome] = db.pragma('wal_checkpoint(PASSIVE)') as readonly CheckpointRow[];
    if (!outcome || outcome.log === outcome.checkpointed) return;
    pause();
  }
  throw new Error('a reader kept the log of a bundle from being copied');
}

interface CheckpointRow {
  /** Pages in the log, and those of them that have been copied; both -1 without a log. */
  readonly log: number;
  readonly checkpointed: number;
}

/** Whether a log is beside the bundle, as while a process writes to it or has not put it to rest. */
export function hasLog(path: string): boolean {
  return existsSync(`${path}-wal`);
}

/** SQLite does not wait by itself while another process describes the bundle at rest, or puts it to rest just now. */
function startLog(db: Sqlite): void {
  const begun = performance.now();
  for (;;) {
    try {
      if (triedLog(db)) return;
    } catch (error) {
      if (!isBusy(error) || performance.now() - begun > WRITER_TIMEOUT_MS) throw error;
    }
    pause();
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE);
}

/** One page of the file is rewritten, in one step: neither needs a journal or a sync. */
function triedLog(db: Sqlite): boolean {
  if (!usesLog(db)) {
    db.pragma('synchronous = OFF');
    db.pragma('journal_mode = MEMORY');
    db.pragma('journal_mode = WAL');
  }
  // The first read takes the lock of those who use the log: from then on no other process can put the bundle to rest.
  db.pragma('user_version');
  return usesLog(db);
}

function usesLog(db: Sqlite): boolean {
  return db.pragma('journal_mode', { simple: true }) === 'wal';
}

/**
 * Copies the log into the file and does away with it, so that readers need no other file. False while another process
 * has the bundle open with its log: the last one does it.
 */
export function putToRest(db: Sqlite): boolean {
  db.pragma('busy_timeout = 0');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.pragma('synchronous = OFF');
  try {
    return db.pragma('journal_mode = MEMORY', { simple: true }) === 'memory';
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

/** Logs whose bundle has gone, left by a process that died or still reads it; then the folder, if nothing is in it. */
function removeLeftovers(folder: string): void {
  const entries = entriesOf(folder);
  const orphans = entries.filter((entry) => !entries.includes(entry.replace(/-(wal|shm)$/, '')));
  for (const orphan of orphans) rmSync(`${folder}/${orphan}`, { force: true });
  if (orphans.length < entries.length) return;
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function writeEmptyBundle(path: string, address: BundleAddress): void {
  const db = new Database(path);
  try {
    db.pragma('synchronous = OFF');
    db.pragma(`page_size = ${SQLITE_PAGE_BYTES}`);
    db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = MEMORY');
    db.exec(SCHEMA);
    const { set, z, bundleX, bundleY } = address;
    db.prepare('INSERT INTO bundle VALUES (?, ?, ?, ?)').run(tileSetId(set), z, bundleX, bundleY);
  } finally {
    db.close();
  }
}

function configured(db: Sqlite, configure: (db: Sqlite) => void): Sqlite {
  try {
    configure(db);
    checkFormat(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
