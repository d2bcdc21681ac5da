import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { TilewardenError } from '../domain/errors.ts';
import { hasCode } from '../lib/error-code.ts';
import type { StoreFiles } from '../storage/store.ts';
import { LAYERS_TABLE } from './vector-layers.ts';

/** An unfinished SQLite file beside its final name. A table of it records its purpose. */
interface Staging {
  readonly db: Database.Database;
  readonly path: string;
  /** It was begun by an earlier attempt. */
  readonly resumed: boolean;
}

/** Bytes of a page of the database: a usual tile fits into one or two. */
const PAGE_BYTES = 8192;
/** The log is copied into the file and flushed when it has this size. */
const LOG_BYTES = 128 * 2 ** 20;
const CACHE_KIB = 65_536;

export interface Purpose {
  readonly what: string;
  /** A file with another `since` is started again (see `tilesSince`); one with another `what` is refused. */
  readonly since: string;
}

/** Opens the file of an interrupted export, or a new one. `prepare` creates its tables. */
export function openStaging(
  target: string,
  purpose: Purpose,
  prepare: (db: Database.Database) => void,
): Staging {
  if (existsSync(target)) {
    throw new TilewardenError(
      'request-invalid',
      `${target} already exists; remove it or choose another name.`,
    );
  }
  const path = `${target}.partial`;
  const db = new Database(path);
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma(`wal_autocheckpoint = ${LOG_BYTES / PAGE_BYTES}`);
  db.pragma(`cache_size = ${-CACHE_KIB}`);
  const resumed = !isNew(db);
  const text = `${purpose.since}\n${purpose.what}`;
  if (!resumed) {
    db.transaction(() => {
      prepare(db);
      db.exec('CREATE TABLE export_purpose (purpose TEXT NOT NULL)');
      db.prepare('INSERT INTO export_purpose VALUES (?)').run(text);
    })();
  }
  const known = db.prepare<[], { purpose: string }>('SELECT purpose FROM export_purpose').get()?.purpose;
  if (known === text) return { db, path, resumed };
  if (known?.endsWith(purpose.what)) {
    removeStaging({ db, path });
    return openStaging(target, purpose, prepare);
  }
  db.close();
  throw new TilewardenError(
    'request-invalid',
    `${path} was left by an export of something else; remove it or choose another name.`,
  );
}

/** Renames the finished file, after removing our own tables. */
export function publishStaging({ db, path }: Staging, target: string): number {
  db.exec(`DROP TABLE export_purpose; DROP TABLE IF EXISTS ${LAYERS_TABLE}`);
  db.pragma('journal_mode = DELETE');
  db.close();
  renameSync(path, target);
  return statSync(target).size;
}

export function removeStaging({ db, path }: Pick<Staging, 'db' | 'path'>): void {
  db.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
}

function isNew(db: Database.Database): boolean {
  const known = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'export_purpose'").get();
  return known === undefined;
}

/** Exported files in a folder, on a machine that does not share its stores. */
export function createFolderFiles(folder: string): StoreFiles {
  return {
    put: (name, path) => rename(path, join(folder, name)),
    async read(name, start, end) {
      try {
        return (await open(join(folder, name))).createReadStream({ start, end });
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return null;
        throw error;
      }
    },
    names: () => readdir(folder),
    async remove(names) {
      for (const name of names) await rm(join(folder, name), { force: true });
    },
  };
}
