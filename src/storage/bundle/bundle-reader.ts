import { existsSync } from 'node:fs';
import type { Statement } from 'better-sqlite3';
import type { StoreChange, TileEntry } from '../tile-store.ts';
import { AtRestReader, READERS_LEASE, type TileRow } from './at-rest-reader.ts';
import {
  type BundleCopy,
  COUNT_RANGE,
  copyStamp,
  FORMER_FORMAT,
  findBundleFile,
  formatOf,
  hasLog,
  openAlone,
  openCopy,
  openForReading,
  type Sqlite,
  TILE_BYTES,
  TILE_LENGTH,
} from './bundle-file.ts';
import { DamagedBundle, isDamage, isRefused } from './sqlite-failure.ts';

export interface FoundTile {
  /** Of the bundle. */
  readonly path: string;
  readonly row: TileRow | null;
}

export interface PageRow extends StoreChange {
  readonly page: number;
  readonly written_at: number;
}

/** Bundles of version 0.2 have no such columns. */
const [TICKET, PROOF] = ['ticket', 'proof'];
const TILE_ROW = `created_at, checksum, fresh_until, made_by, ${TICKET}, ${PROOF}, ${TILE_BYTES} AS bytes`;

/** Of a bundle, in the order of its keys. */
export const PAGES = 'SELECT page, tiles, bytes, written_at FROM page ORDER BY page';

export interface EntryRow extends Pick<TileEntry, 'bytes' | 'createdAt' | 'freshUntil' | 'validator'> {
  readonly key: number;
  readonly ticket: number;
}

/** A bundle that is open for reading. Statements are prepared when first used: most bundles are opened for one tile. */
export class OpenBundle {
  readonly path: string;
  readonly database: Sqlite;
  /** Whether others can use the bundle while it is open here. */
  readonly shared: boolean;
  /** Null when it is the file itself. */
  readonly copy: BundleCopy | null;
  usedAt = 0;
  /** When its file was last seen in its place. */
  seenAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, db: Sqlite, shared: boolean, copy: BundleCopy | null = null) {
    this.path = path;
    this.database = db;
    this.shared = shared;
    this.copy = copy;
  }

  readonly tile = this.#lazily<[number], TileRow>(`SELECT ${TILE_ROW} FROM tile WHERE key = ?`);
  /** First and last key. */
  readonly range = this.#lazily<[number, number], TileRow & Pick<EntryRow, 'key'>>(
    `SELECT key, ${TILE_ROW} FROM tile WHERE key BETWEEN ? AND ?`,
  );
  readonly pages = this.#lazily<[], PageRow>(PAGES);
  readonly countRange = this.#lazily<[number, number, number], StoreChange>(COUNT_RANGE);
  readonly entries = this.#lazily<[number, number], EntryRow>(
    `SELECT key, created_at AS createdAt, fresh_until AS freshUntil, validator, ${TICKET}, ${TILE_LENGTH} AS bytes
     FROM tile WHERE key BETWEEN ? AND ?`,
  );
  /** Null for a bundle without tiles. */
  readonly identity = this.#lazily<[], string>(
    'SELECT identity FROM bundle WHERE EXISTS (SELECT 1 FROM page)',
    true,
  );

  #lazily<Parameters extends unknown[], Row>(sql: string, pluck = false): () => Statement<Parameters, Row> {
    let prepared: Statement<Parameters, Row> | null = null;
    return () => {
      prepared ??= this.#prepared<Parameters, Row>(sql).pluck(pluck) as Statement<Parameters, Row>;
      return prepared;
    };
  }

  /** Asking for the format of each bundle would take longer than most reads. */
  #prepared<Parameters extends unknown[], Row>(sql: string) {
    try {
      return this.database.prepare<Parameters, Row>(sql);
    } catch (error) {
      if (formatOf(this.database) !== FORMER_FORMAT) throw error;
      return this.database.prepare<Parameters, Row>(
        sql.replace(TICKET, `0 AS ${TICKET}`).replace(PROOF, `NULL AS ${PROOF}`),
      );
    }
  }
}

/** Another process may replace a bundle while it is being opened; more often than this is no coincidence. */
const OPENING_ATTEMPTS = 5;

/** Names of files that are remembered; looking for one takes as long as reading a tile. */
const MAX_PATHS = 20_000;

/** Bytes of copies kept in memory at most. */
const MAX_COPIED = 256 * 1024 ** 2;

/** Keeps the bundles that were read last open. Everything here happens on the calling thread, in microseconds. */
export class BundleReader {
  readonly #maxOpen: number;
  readonly #onLog: (path: string) => void;
  readonly #handles = new Map<string, OpenBundle>();
  /** By folder: a name that was found there, which is never used again after its bundle has gone. */
  readonly #paths = new Map<string, string>();
  readonly #atRest: AtRestReader;

  /** `onLog` is called with bundles that were closed while they had a log. */
  constructor(maxOpen: number, onLog: (path: string) => void) {
    this.#maxOpen = maxOpen;
    this.#atRest = new AtRestReader(maxOpen);
    this.#onLog = onLog;
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

  /** The same for one tile, which a bundle at rest that is not open here yields without being opened. */
  readTile(folder: string, now: number, key: number): FoundTile | null {
    return (
      (this.#handles.has(folder) ? null : this.#readAtRest(folder, now, key)) ??
      this.read(folder, now, ({ path, tile }) => ({ path, row: tile().get(key) ?? null }))
    );
  }

  /** Closes bundles that were not read since `before`, and removed ones, so that their space is freed. */
  closeIdle(before: number): void {
    for (const [folder, handle] of this.#handles) {
      if (handle.usedAt < before || !existsSync(handle.path)) this.close(folder);
    }
    this.#atRest.closeIdle(before);
  }

  closeBelow(folder: string): void {
    this.#atRest.closeBelow(folder);
    for (const name of this.#handles.keys()) {
      if (name.startsWith(`${folder}/`)) this.close(name);
    }
  }

  close(folder: string): void {
    const handle = this.#handles.get(folder);
    if (!handle) return;
    this.#handles.delete(folder);
    const logged = hasLog(handle.path);
    handle.database.close();
    if (logged) this.#onLog(handle.path);
  }

  closeAll(): void {
    for (const folder of this.#handles.keys()) this.close(folder);
    this.#atRest.closeAll();
  }

  #current(folder: string, now: number): OpenBundle | null {
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

  #open(folder: string, now: number): OpenBundle | null {
    for (let attempt = 0; attempt < OPENING_ATTEMPTS; attempt++) {
      const path = this.#paths.get(folder) ?? this.#find(folder);
      if (!path) return null;
      const handle = this.#tryOpening(path);
      if (!handle) {
        this.#paths.delete(folder);
        continue;
      }
      handle.seenAt = now;
      this.#handles.set(folder, handle);
      return handle;
    }
    return null;
  }

  /** Null when the bundle is not there, or has to be opened. */
  #readAtRest(folder: string, now: number, key: number): FoundTile | null {
    const path = this.#paths.get(folder) ?? this.#find(folder);
    if (!path) return null;
    try {
      const row = this.#atRest.read(path, key, now);
      return row === 'unsure' ? null : { path, row };
    } catch {
      return null;
    }
  }

  #find(folder: string): string | null {
    const path = findBundleFile(folder);
    if (this.#paths.size >= MAX_PATHS) this.#paths.clear();
    if (path !== null) this.#paths.set(folder, path);
    return path;
  }

  /** Null when the file has gone. */
  #tryOpening(path: string): OpenBundle | null {
    try {
      return new OpenBundle(path, openForReading(path), true);
    } catch (error) {
      if (!existsSync(path)) return null;
      if (!isRefused(error)) throw DamagedBundle.if(error, path);
      return this.#openRefused(path);
    }
  }

  #openRefused(path: string): OpenBundle {
    try {
      return new OpenBundle(path, openAlone(path), false);
    } catch (error) {
      const copy = isDamage(error) ? null : openCopy(path);
      if (!copy) throw error;
      return new OpenBundle(path, copy.db, true, copy);
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
function isCurrent({ path, copy }: OpenBundle): boolean {
  return copy ? copyStamp(path) === copy.stamp : existsSync(path);
}
