import { existsSync } from 'node:fs';
import type { Statement } from 'better-sqlite3';
import {
  type BundleCopy,
  copyStamp,
  findBundleFile,
  openAlone,
  openCopy,
  openForReading,
  type Sqlite,
} from './bundle-file.ts';
import { DamagedBundle, isDamage, isRefusedOpen } from './sqlite-failure.ts';

export interface TileRow {
  readonly created_at: number;
  readonly checksum: number;
  readonly fresh_until: number | null;
  readonly made_by: number | null;
  readonly bytes: Buffer;
}

export interface ValidatorRow {
  readonly tiles: number;
  readonly least: string | null;
  readonly greatest: string | null;
}

export interface PageRow {
  readonly page: number;
  readonly tiles: number;
  readonly bytes: number;
  readonly written_at: number;
}

export interface EntryRow {
  readonly key: number;
  readonly created_at: number;
  readonly size: number;
}

/** A bundle that is open for reading. */
export interface OpenBundle {
  readonly path: string;
  readonly tile: Statement<[number], TileRow>;
  readonly pages: Statement<[], PageRow>;
  readonly entries: Statement<[number, number], EntryRow>;
  /** First and last key, the earliest creation, and the moment at which they are to be fresh. */
  readonly presentKeys: Statement<[number, number, number, number], number>;
  readonly validators: Statement<[number, number], ValidatorRow>;
  /** Null for a bundle without tiles. */
  readonly identity: Statement<[], string>;
}

interface Handle extends OpenBundle {
  readonly db: Sqlite;
  /** Whether others can use the bundle while this handle is open. */
  readonly shared: boolean;
  /** Null when it is the file itself. */
  readonly copy: BundleCopy | null;
  usedAt: number;
  /** When its file was last seen in its place. */
  seenAt: number;
}

/** Another process may replace a bundle while it is being opened; more often than this is no coincidence. */
const OPENING_ATTEMPTS = 5;

/** Bytes of copies kept in memory at most. */
const MAX_COPIED = 256 * 1024 ** 2;

/**
 * Milliseconds for which a reader takes it that a bundle is still in its place, which saves a system call for each
 * tile of a busy bundle. Whoever removes a bundle waits this long before saying that it is gone.
 */
export const READERS_LEASE = 20;

/** Keeps the bundles that were read last open. Everything here happens on the calling thread, in microseconds. */
export class BundleReader {
  readonly #maxOpen: number;
  readonly #handles = new Map<string, Handle>();

  constructor(maxOpen: number) {
    this.#maxOpen = maxOpen;
  }

  get openBundles(): number {
    return this.#handles.size;
  }

  /** Null when there is no such bundle now, in whatever process it was removed. */
  read<T>(folder: string, now: number, use: (bundle: OpenBundle) => T): T | null {
    const handle = this.#current(folder, now) ?? this.#open(folder, now);
    if (!handle) return null;
    handle.usedAt = now;
    try {
      return use(handle);
    } catch (error) {
      throw DamagedBundle.if(error, handle.path);
    } finally {
      if (!handle.shared) this.close(folder);
      if (handle.copy !== null) this.#dropCopies();
      this.#makeRoom();
    }
  }

  /** Closes what nobody has read since `before`, and what is no longer in its place, so that its space is freed. */
  closeIdle(before: number): void {
    for (const [folder, handle] of this.#handles) {
      if (handle.usedAt < before || !existsSync(handle.path)) this.close(folder);
    }
  }

  closeBelow(folder: string): void {
    for (const name of this.#handles.keys()) {
      if (name.startsWith(`${folder}/`)) this.close(name);
    }
  }

  close(folder: string): void {
    const handle = this.#handles.get(folder);
    if (!handle) return;
    this.#handles.delete(folder);
    handle.db.close();
  }

  closeAll(): void {
    for (const folder of this.#handles.keys()) this.close(folder);
  }

  #current(folder: string, now: number): Handle | null {
    const handle = this.#handles.get(folder);
    if (!handle) return null;
    if (handle.copy !== null || now - handle.seenAt > READERS_LEASE) {
      if (!isCurrent(handle)) {
        this.close(folder);
        return null;
      }
      handle.seenAt = now;
    }
    this.#handles.delete(folder);
    this.#handles.set(folder, handle);
    return handle;
  }

  #open(folder: string, now: number): Handle | null {
    for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
      const path = findBundleFile(folder);
      if (!path) return null;
      const handle = this.#tryOpening(path);
      if (!handle) continue;
      handle.seenAt = now;
      this.#handles.set(folder, handle);
      return handle;
    }
    return null;
  }

  #tryOpening(path: string): Handle | null {
    try {
      const handle = handleOf(path, openForReading(path), true);
      if (isCurrent(handle)) return handle;
      handle.db.close();
      return null;
    } catch (error) {
      if (!existsSync(path)) return null;
      if (!isRefusedOpen(error)) throw DamagedBundle.if(error, path);
      return this.#openRefused(path);
    }
  }

  #openRefused(path: string): Handle {
    try {
      return handleOf(path, openAlone(path), false);
    } catch (error) {
      const copy = isDamage(error) ? null : openCopy(path);
      if (!copy) throw error;
      return handleOf(path, copy.db, true, copy);
    }
  }

  #makeRoom(): void {
    for (const folder of this.#handles.keys()) {
      if (this.#handles.size <= this.#maxOpen) return;
      this.close(folder);
    }
  }

  #dropCopies(): void {
    const copies = [...this.#handles].flatMap(([folder, { copy }]) => (copy ? [{ folder, ...copy }] : []));
    let total = copies.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { folder, bytes } of copies.slice(0, -1)) {
      if (total <= MAX_COPIED) return;
      total -= bytes;
      this.close(folder);
    }
  }
}

/** A file is in its place until its bundle is removed, and its name is never used again. */
function isCurrent({ path, copy }: Handle): boolean {
  return copy ? copyStamp(path) === copy.stamp : existsSync(path);
}

function handleOf(path: string, db: Sqlite, shared: boolean, copy: BundleCopy | null = null): Handle {
  try {
    return {
      path,
      db,
      shared,
      copy,
      usedAt: 0,
      seenAt: Number.NEGATIVE_INFINITY,
      tile: db.prepare(
        `SELECT created_at, checksum, fresh_until, made_by, bytes
         FROM tile WHERE key = ?`,
      ),
      pages: db.prepare(`SELECT page, tiles, bytes, written_at FROM page ORDER BY page`),
      entries: db.prepare(
        'SELECT key, created_at, length(bytes) AS size FROM tile WHERE key BETWEEN ? AND ? ORDER BY key',
      ),
      presentKeys: db
        .prepare<[number, number, number, number], number>(
          `SELECT key FROM tile
           WHERE key BETWEEN ? AND ? AND created_at >= ? AND (fresh_until IS NULL OR fresh_until > ?)`,
        )
        .pluck(),
      validators: db.prepare(
        `SELECT count(validator) AS tiles, min(validator) AS least, max(validator) AS greatest
         FROM tile WHERE key BETWEEN ? AND ?`,
      ),
      identity: db
        .prepare<[], string>('SELECT identity FROM bundle WHERE EXISTS (SELECT 1 FROM page)')
        .pluck(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
