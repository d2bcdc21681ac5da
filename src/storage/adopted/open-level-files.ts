import type Database from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { OldCache } from '../old-cache.ts';
import type { Adoption } from './adopt-options.ts';
import type { OldCacheOwner } from './open-old-folder.ts';
import { openRootedFolder } from './rooted-folder.ts';
import { type FindTile, openSqliteTiles, SMALL_TILE, type SqliteTiles } from './sqlite-tiles.ts';
import { tileThere } from './tile-there.ts';

/** SQLite files of a folder, one for each level. */
export interface LevelFiles {
  /** Null: the level has none. Throws `store-failed`. */
  ofLevel(z: number): Promise<SqliteTiles | null>;
  close(): void;
}

export function openLevelFiles(
  place: { readonly folder: string; readonly within: Adoption['within'] },
  endings: readonly string[],
  open: (path: string) => SqliteTiles,
): LevelFiles {
  const folder = openRootedFolder(place);
  const files = new Map<string, SqliteTiles>();
  return {
    async ofLevel(z) {
      for (const ending of endings) {
        const path = await folder.locate(`${z}${ending}`);
        if (path === null) continue;
        const file = files.get(path) ?? open(path);
        files.set(path, file);
        return file;
      }
      return null;
    },
    close() {
      for (const file of files.values()) file.close();
      files.clear();
    },
  };
}

/** MapProxy 1 and later versions. */
const LEVEL_ENDINGS = ['.mbtile', '.mbtiles'];

/** MapProxy's caches of type `sqlite`: tables as in MBTiles, rows by the origin of the grid, and a time for each tile. */
export function openMapProxySqlite(
  options: Extract<Adoption, { layout: 'mapproxy-sqlite' }>,
  owner: OldCacheOwner,
  clock: Clock,
): OldCache {
  const files = openLevelFiles(options, LEVEL_ENDINGS, (path) => openSqliteTiles(path, clock, findTimedTile));
  const counting = { ...options, gridSet: options.gridSet ?? owner.gridSet };
  return {
    async read(asked) {
      const tile = tileThere(asked, counting);
      if (!tile) return null;
      return (await files.ofLevel(tile.z))?.read(tile, asked.gridSet) ?? null;
    },
    async close() {
      files.close();
    },
  };
}

function findTimedTile(db: Database.Database): FindTile {
  const find = db.prepare<[number, number, number], { tile: unknown; last_modified: unknown }>(
    `SELECT ${SMALL_TILE}, last_modified FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?`,
  );
  return ({ z, x, y }) => {
    const row = find.get(z, x, y);
    return row && { tile: row.tile, changedAt: localTime(row.last_modified) };
  };
}

/** `2026-03-01 14:00:00` in the time zone of the machine that wrote it, which is taken for this one's. */
function localTime(text: unknown): number | null {
  const time = Date.parse(String(text).replace(' ', 'T'));
  return Number.isNaN(time) ? null : time;
}
