import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { TilewardenError } from '../../domain/errors.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import type { OldTile } from '../old-cache.ts';
import { MAX_TILE_BYTES } from './open-old-folder.ts';

/** Milliseconds after which a file may have been replaced. */
const LOOK_AGAIN_MS = 1000;
/** Milliseconds for which everything stands still while another program writes to the file. */
const LOCK_TIMEOUT_MS = 50;

export interface TileRow {
  readonly tile: unknown;
  /** Milliseconds since 1970; null: it is as old as the file. */
  readonly changedAt: number | null;
}

/** Finds a tile by the numbers that the file has. Throws `store-failed` when its tiles are not those of the grid set. */
export type FindTile = (tile: TileIndex, gridSet: GridSet) => TileRow | undefined;

/** What a `SELECT` names for a tile, so that a huge one is never read. */
export const SMALL_TILE = `CASE WHEN length(tile_data) <= ${MAX_TILE_BYTES} THEN tile_data END AS tile`;

interface OpenDatabase {
  readonly db: Database.Database;
  readonly find: FindTile;
  /** Another one when the file has been replaced or written to. */
  readonly stamp: string;
  readonly changedAt: number;
  readonly lookedAt: number;
}

export interface SqliteTiles {
  /** Null: it has none. Throws `store-failed`. */
  read(tile: TileIndex, gridSet: GridSet): OldTile | null;
  close(): void;
}

/** An SQLite file of another program. `prepare` looks at its tables. It is opened when first needed, and again after a change. */
export function openSqliteTiles(
  path: string,
  clock: Clock,
  prepare: (db: Database.Database) => FindTile,
): SqliteTiles {
  let open: OpenDatabase | null = null;

  function close(): void {
    open?.db.close();
    open = null;
  }

  function current(): OpenDatabase {
    const now = clock.monotonic();
    if (open && now - open.lookedAt < LOOK_AGAIN_MS) return open;
    const { ino, size, mtimeMs } = statSync(path);
    const stamp = `${ino} ${size} ${mtimeMs}`;
    if (open?.stamp === stamp) open = { ...open, lookedAt: now };
    else {
      close();
      open = { ...openReadOnly(path, prepare), stamp, changedAt: mtimeMs, lookedAt: now };
    }
    return open;
  }

  return {
    read(tile, gridSet) {
      try {
        const { find, changedAt } = current();
        const row = find(tile, gridSet);
        if (!Buffer.isBuffer(row?.tile) || row.tile.length === 0) return null;
        return { bytes: row.tile, changedAt: row.changedAt ?? changedAt };
      } catch (cause) {
        if (cause instanceof TilewardenError) throw cause;
        throw new TilewardenError('store-failed', 'An adopted file could not be read.', { cause });
      }
    },
    close,
  };
}

function openReadOnly(
  path: string,
  prepare: (db: Database.Database) => FindTile,
): Pick<OpenDatabase, 'db' | 'find'> {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: LOCK_TIMEOUT_MS });
  try {
    // Views and triggers of a file that we did not write may call nothing.
    db.pragma('trusted_schema = OFF');
    return { db, find: prepare(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}
