import { TilewardenError } from '../../domain/errors.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { TileIndex } from '../../domain/tile-key.ts';
import type { Clock } from '../../lib/clock.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import { type OldCache, type OldTile, type OldTileRequest, tileThere } from '../old-cache.ts';
import { openSqliteFile, type SqliteDatabase, type SqliteFile } from '../sqlite-file.ts';
import type { Adoption } from './adopt-options.ts';
import { geoPackageMisfit } from './geopackage-misfit.ts';
import { dimensionsThere, fromBelow, geoWebCacheFile, nameThere } from './old-tile-paths.ts';
import {
  locateFile,
  MAX_TILE_BYTES,
  type OldCacheOwner,
  openRootedFolder,
  unreadable,
} from './rooted-folder.ts';

type SqliteOptions = Extract<
  Adoption,
  { layout: 'mbtiles' | 'mapproxy-sqlite' | 'mapcache-sqlite' | 'geopackage' | 'geowebcache-mbtiles' }
>;

/** Finds a tile by the file's own column and row. Throws `store-failed` if its matrices do not match the grid set. */
type FindTile = (tile: TileIndex, request: OldTileRequest) => TileRow | undefined;

interface TileRow {
  readonly tile: unknown;
  /** Null: the tile is as old as the file. */
  readonly time: unknown;
}

/** The file with a tile; null: there is none. Throws `store-failed`. */
type Locate = (tile: TileIndex, request: OldTileRequest) => Promise<string | null>;

/** Limit of open files. GeoWebCache has a file for every 250 × 250 tiles by default. */
const MAX_OPEN = 64;
/** Possible file names of a level. MapProxy's extension depends on its version. */
const LEVEL_FILES = { geopackage: ['{z}.gpkg'], 'mapproxy-sqlite': ['{z}.mbtile', '{z}.mbtiles'] };

/** Tables of tiles in one file, or in a file for each level: MBTiles, GeoPackages, SQLite caches of MapProxy and MapCache. */
export function openSqliteCache(options: SqliteOptions, owner: OldCacheOwner, clock: Clock): OldCache {
  const tileIn = counterOf(options, owner);
  const locate = locator(options, owner);
  const files = new Map<string, SqliteFile<FindTile>>();
  return {
    async read(request) {
      const tile = tileIn(request);
      if (!tile) return null;
      const path = await locate(tile, request);
      if (path === null) return null;
      const open = () => openSqliteFile(path, clock, (db) => prepareFind(db, options, owner));
      const file = getOrCreate(files, path, open);
      keepOpen(files, path, file);
      return readTile(file, tile, request);
    },
    async close() {
      for (const file of files.values()) file.close();
      files.clear();
    },
  };
}

/** Converts a request to the file's column and row. Only GeoWebCache has files for every grid set and parameters. */
function counterOf(options: SqliteOptions, owner: OldCacheOwner) {
  if (options.layout === 'geowebcache-mbtiles') return fromBelow;
  const counting = { ...options, gridSet: options.gridSet ?? owner.gridSet };
  if (options.layout !== 'mapcache-sqlite') return (request: OldTileRequest) => tileThere(request, counting);
  return (request: OldTileRequest) =>
    dimensionsThere(options.dimensions, request) && tileThere({ ...request, parameters: null }, counting);
}

/** Above the limit, closes the least recently used file. */
function keepOpen(files: Map<string, SqliteFile<FindTile>>, path: string, file: SqliteFile<FindTile>): void {
  files.delete(path);
  files.set(path, file);
  const [oldest] = files;
  if (!oldest || files.size <= MAX_OPEN) return;
  oldest[1].close();
  files.delete(oldest[0]);
}

function locator(options: SqliteOptions, { layer }: OldCacheOwner): Locate {
  const { layout, within } = options;
  const { file, folder } = { file: undefined, folder: undefined, ...options };
  if (folder === undefined || layout === 'mbtiles') return locateFile(file ?? '', within);
  const rooted = openRootedFolder({ folder, within });
  if (layout === 'geowebcache-mbtiles')
    return (tile, request) => rooted.locate(geoWebCacheFile(options, request, tile, layer));
  const names = layout === 'mapcache-sqlite' ? [options.database] : LEVEL_FILES[layout];
  return async ({ z: level }) => {
    for (const name of names) {
      const path = await rooted.locate(name.replaceAll('{z}', String(level)));
      if (path !== null) return path;
    }
    return null;
  };
}

function readTile(file: SqliteFile<FindTile>, tile: TileIndex, request: OldTileRequest): OldTile | null {
  try {
    const { tables: find, changedAt } = file.current();
    const row = find(tile, request);
    if (!Buffer.isBuffer(row?.tile) || row.tile.length === 0) return null;
    return { bytes: row.tile, changedAt: localTime(row.time) ?? changedAt };
  } catch (cause) {
    throw cause instanceof TilewardenError ? cause : unreadable(cause);
  }
}

/** `2026-03-01 14:00:00` in the time zone of the machine that wrote it, which is assumed to be this one's. */
function localTime(text: unknown): number | null {
  const time = Date.parse(String(text).replace(' ', 'T'));
  return Number.isNaN(time) ? null : time;
}

function prepareFind(db: SqliteDatabase, options: SqliteOptions, owner: OldCacheOwner): FindTile {
  if (options.layout === 'mapcache-sqlite') return prepareFindNamed(db, options, owner);
  if (options.layout === 'geopackage') return prepareFindFitting(db, options);
  if (options.layout === 'geowebcache-mbtiles')
    return prepareFindIn(db, 'tiles', hasTimes(db) ? CREATE_TIME : 'NULL');
  return prepareFindIn(db, 'tiles', options.layout === 'mapproxy-sqlite' ? 'last_modified' : 'NULL');
}

/** GeoWebCache keeps milliseconds since 1970, unless its store has `useCreateTime` off. */
const CREATE_TIME = `(SELECT strftime('%Y-%m-%dT%H:%M:%SZ', create_time / 1000, 'unixepoch') FROM tiles_metadata AS m
  WHERE (m.zoom_level, m.tile_column, m.tile_row) = (tiles.zoom_level, tiles.tile_column, tiles.tile_row))`;

function hasTimes(db: SqliteDatabase): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'tiles_metadata'").get() !== undefined;
}

/** A huge tile is never read. */
function prepareFindIn(db: SqliteDatabase, table: string, time: string): FindTile {
  const find = db.prepare<[number, number, number], TileRow>(
    `SELECT CASE WHEN length(tile_data) <= ${MAX_TILE_BYTES} THEN tile_data END AS tile, ${time} AS time
       FROM "${table.replaceAll('"', '""')}" WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?`,
  );
  return ({ z, x, y }) => find.get(z, x, y);
}

/** MapCache stores five bytes for a tile of one colour, which is left to the source. Its times are UTC. */
function prepareFindNamed(
  db: SqliteDatabase,
  options: Extract<SqliteOptions, { layout: 'mapcache-sqlite' }>,
  { layer }: OldCacheOwner,
): FindTile {
  const find = db.prepare<[string, string, string, number, number, number], TileRow>(
    `SELECT CASE WHEN length(data) BETWEEN 6 AND ${MAX_TILE_BYTES} THEN data END AS tile, ctime || 'Z' AS time
       FROM tiles WHERE tileset = ? AND grid = ? AND dim = ? AND z = ? AND x = ? AND y = ?`,
  );
  return ({ z, x, y }, request) => {
    const values = (dimensionsThere(options.dimensions, request) ?? []).map(([, value]) => value);
    const [name, grid] = [options.name ?? layer, nameThere(options, request.gridSet)];
    return find.get(name, grid, values.toReversed().join('#'), z, x, y);
  };
}

/** A GeoPackage whose matrices do not match the grid set serves no tile. */
function prepareFindFitting(
  db: SqliteDatabase,
  { table: name, origin }: Extract<SqliteOptions, { layout: 'geopackage' }>,
): FindTile {
  const table = onlyTable(db, name);
  const find = prepareFindIn(db, table, 'NULL');
  let fitting: GridSet | null = null;
  return (tile, request) => {
    const { gridSet } = request;
    const misfit = gridSet === fitting ? null : geoPackageMisfit(db, table, gridSet, origin);
    if (misfit !== null)
      throw unfitPackage(`The adopted GeoPackage does not fit grid set ${gridSet.name}: ${misfit}.`);
    fitting = gridSet;
    return find(tile, request);
  };
}

function onlyTable(db: SqliteDatabase, name: string | undefined): string {
  const tables = db
    .prepare<[], string>("SELECT table_name FROM gpkg_contents WHERE data_type = 'tiles' ORDER BY table_name")
    .pluck()
    .all()
    .map(String);
  const matches = name === undefined ? tables : tables.filter((table) => table === name);
  const [table] = matches;
  if (table !== undefined && matches.length === 1) return table;
  throw unfitPackage(
    `The adopted GeoPackage has the tables of tiles ${tables.join(', ') || '(none)'}; \`table\` must name one of them.`,
  );
}

function unfitPackage(message: string): TilewardenError {
  return new TilewardenError('store-failed', message);
}
