import { realpath, stat } from 'node:fs/promises';
import type Database from 'better-sqlite3';
import { TilewardenError } from '../../domain/errors.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { Clock } from '../../lib/clock.ts';
import type { OldCache } from '../old-cache.ts';
import type { Adoption } from './adopt-options.ts';
import { geoPackageMisfit } from './geopackage-misfit.ts';
import { openLevelFiles } from './open-level-files.ts';
import type { OldCacheOwner } from './open-old-folder.ts';
import { refuseElsewhere } from './rooted-folder.ts';
import { type FindTile, openSqliteTiles, SMALL_TILE, type SqliteTiles } from './sqlite-tiles.ts';
import { tileThere } from './tile-there.ts';

type GeoPackageOptions = Extract<Adoption, { layout: 'geopackage' }>;

/** A GeoPackage, or a folder with one for each zoom. One whose matrices are not those of the grid set serves nothing. */
export function openOldGeopackage(options: GeoPackageOptions, owner: OldCacheOwner, clock: Clock): OldCache {
  const counting = { ...options, gridSet: options.gridSet ?? owner.gridSet };
  const open = (path: string) => openSqliteTiles(path, clock, (db) => findTileOf(db, options));
  const { file, folder, within } = options;
  const files =
    folder === undefined
      ? openOneFile(file ?? '', within, open)
      : openLevelFiles({ folder, within }, ['.gpkg'], open);
  return {
    async read(asked) {
      const tile = tileThere(asked, counting);
      if (!tile) return null;
      return (await files.ofLevel(tile.z))?.read(tile, asked.gridSet) ?? null;
    },
    async close() {
      await files.close();
    },
  };
}

function openOneFile(path: string, within: Adoption['within'], open: (path: string) => SqliteTiles) {
  let opening: Promise<SqliteTiles> | null = null;

  async function opened(): Promise<SqliteTiles> {
    try {
      const real = await realpath(path);
      await refuseElsewhere(real, within);
      if (!(await stat(real)).isFile()) throw new Error(`${real} is not a file`);
      return open(real);
    } catch (cause) {
      throw new TilewardenError('store-failed', 'An adopted file could not be read.', { cause });
    }
  }

  return {
    ofLevel(): Promise<SqliteTiles> {
      opening ??= opened().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return opening;
    },
    async close() {
      (await opening?.catch(() => null))?.close();
    },
  };
}

function findTileOf(db: Database.Database, { table: wanted, origin }: GeoPackageOptions): FindTile {
  const table = tableOf(db, wanted);
  const find = db.prepare<[number, number, number], { tile: unknown }>(
    `SELECT ${SMALL_TILE} FROM "${table.replaceAll('"', '""')}" WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?`,
  );
  let fitting: GridSet | null = null;
  return ({ z, x, y }, gridSet) => {
    const misfit = gridSet === fitting ? null : geoPackageMisfit(db, table, gridSet, origin);
    if (misfit !== null)
      throw unfit(`The adopted GeoPackage does not fit grid set ${gridSet.name}: ${misfit}.`);
    fitting = gridSet;
    const row = find.get(z, x, y);
    return row && { tile: row.tile, changedAt: null };
  };
}

function tableOf(db: Database.Database, wanted: string | undefined): string {
  const tables = db
    .prepare<[], string>("SELECT table_name FROM gpkg_contents WHERE data_type = 'tiles' ORDER BY table_name")
    .pluck()
    .all()
    .map(String);
  const found = wanted === undefined ? tables : tables.filter((table) => table === wanted);
  const [table] = found;
  if (table !== undefined && found.length === 1) return table;
  throw unfit(
    `The adopted GeoPackage has the tables of tiles ${tables.join(', ') || '(none)'}; \`table\` must name one of them.`,
  );
}

function unfit(message: string): TilewardenError {
  return new TilewardenError('store-failed', message);
}
