import type Database from 'better-sqlite3';
import { TilewardenError } from '../domain/errors.ts';
import { sameSrs } from '../domain/srs.ts';
import type { ArchiveContent, ArchiveWriter, ExportedTile } from './archive-metadata.ts';
import { openStaging, type Purpose, publishStaging } from './staging.ts';

/** OGC GeoPackage 1.3: "GPKG" in ASCII. */
const APPLICATION_ID = 0x47504b47;
const USER_VERSION = 10_300;

/** GeoPackage 1.3 with one table of tiles. Equal tiles are stored once for each place: its tables cannot share them. */
export function openGeopackageWriter(
  target: string,
  content: ArchiveContent,
  purpose: Purpose,
): ArchiveWriter {
  const staging = openStaging(target, purpose, (db) => prepare(db, content));
  const { db, resumed } = staging;
  const find = db.prepare('SELECT 1 FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?');
  const place = db.prepare(
    'INSERT OR REPLACE INTO tiles (zoom_level, tile_column, tile_row, tile_data) VALUES (?, ?, ?, ?)',
  );
  const put = db.transaction((tiles: readonly ExportedTile[]) => {
    for (const { z, x, y, bytes } of tiles) place.run(z, x, y, bytes);
  });
  const forget = db.prepare(
    'DELETE FROM tiles WHERE zoom_level = ? AND tile_column BETWEEN ? AND ? AND tile_row BETWEEN ? AND ?',
  );
  return {
    has: ({ z, x, y }) => resumed && find.get(z, x, y) !== undefined,
    put,
    forget(z, { minX, minY, maxX, maxY }) {
      forget.run(z, minX, maxX, minY, maxY);
      return false;
    },
    count: () => db.prepare<[], number>('SELECT count(*) FROM tiles').pluck().get() ?? 0,
    finish: async () => publishStaging(staging, target),
    close: () => void db.close(),
  };
}

function prepare(db: Database.Database, content: ArchiveContent): void {
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${USER_VERSION}; ${TABLES}`);
  describeReferenceSystems(db, content);
  describeTiles(db, content);
}

const TABLES = `
  CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER NOT NULL PRIMARY KEY,
    organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
  CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE,
    description TEXT DEFAULT '', last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
    min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
    CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
  CREATE TABLE gpkg_tile_matrix_set (table_name TEXT NOT NULL PRIMARY KEY, srs_id INTEGER NOT NULL,
    min_x DOUBLE NOT NULL, min_y DOUBLE NOT NULL, max_x DOUBLE NOT NULL, max_y DOUBLE NOT NULL,
    CONSTRAINT fk_gtms_table_name FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
    CONSTRAINT fk_gtms_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
  CREATE TABLE gpkg_tile_matrix (table_name TEXT NOT NULL, zoom_level INTEGER NOT NULL, matrix_width INTEGER NOT NULL,
    matrix_height INTEGER NOT NULL, tile_width INTEGER NOT NULL, tile_height INTEGER NOT NULL,
    pixel_x_size DOUBLE NOT NULL, pixel_y_size DOUBLE NOT NULL,
    CONSTRAINT pk_ttm PRIMARY KEY (table_name, zoom_level),
    CONSTRAINT fk_tmm_table_name FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name));
  CREATE TABLE gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, definition TEXT NOT NULL,
    scope TEXT NOT NULL, CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
  CREATE TABLE tiles (id INTEGER PRIMARY KEY AUTOINCREMENT, zoom_level INTEGER NOT NULL, tile_column INTEGER NOT NULL,
    tile_row INTEGER NOT NULL, tile_data BLOB NOT NULL, UNIQUE (zoom_level, tile_column, tile_row));
`;

/** Adds the CRS of the grid set, and the three that are required (GeoPackage 1.3, requirement 11). */
function describeReferenceSystems(db: Database.Database, { subset: { gridSet } }: ArchiveContent): void {
  const add = db.prepare('INSERT OR IGNORE INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, ?)');
  add.run('Undefined Cartesian', -1, 'NONE', -1, 'undefined', null);
  add.run('Undefined geographic', 0, 'NONE', 0, 'undefined', null);
  add.run('WGS 84', 4326, 'EPSG', 4326, WGS84, null);
  // The definition may be undefined: readers resolve the code.
  const code = registeredCode(gridSet.srs);
  add.run(gridSet.name, code, 'EPSG', code, 'undefined', gridSet.description || null);
}

const WGS84 =
  'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],' +
  'UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]';

/** The registered EPSG code: the older codes of web mercator are in no register. */
function registeredCode(srs: number): number {
  return sameSrs(srs, WEB_MERCATOR) ? WEB_MERCATOR : srs;
}

const WEB_MERCATOR = 3857;

function describeTiles(db: Database.Database, content: ArchiveContent): void {
  const { layer, subset, bounds, zoomStart, zoomStop, format } = content;
  const { gridSet } = subset;
  const levels = gridSet.levels.slice(zoomStart, zoomStop + 1);
  const top = levels[0]?.top ?? 0;
  // GeoPackage 1.3: all matrices of a set share its upper left corner.
  if (levels.some((level) => Math.abs(level.top - top) > level.resolution / 100)) {
    throw new TilewardenError(
      'request-invalid',
      `Grid set ${gridSet.name} does not begin at the same top at each zoom, which a GeoPackage needs; export one zoom at a time.`,
    );
  }
  const width = Math.max(...levels.map(({ columns, tileSpanX }) => columns * tileSpanX));
  const height = Math.max(...levels.map(({ rows, tileSpanY }) => rows * tileSpanY));
  const left = gridSet.extent.minX;
  db.prepare(
    "INSERT INTO gpkg_contents (table_name, data_type, identifier, description, min_x, min_y, max_x, max_y, srs_id) VALUES ('tiles', 'tiles', ?, ?, ?, ?, ?, ?, ?)",
  ).run(
    layer.title,
    layer.description,
    bounds.minX,
    bounds.minY,
    bounds.maxX,
    bounds.maxY,
    registeredCode(gridSet.srs),
  );
  db.prepare("INSERT INTO gpkg_tile_matrix_set VALUES ('tiles', ?, ?, ?, ?, ?)").run(
    ...[registeredCode(gridSet.srs), left, top - height, left + width, top],
  );
  const describe = db.prepare("INSERT INTO gpkg_tile_matrix VALUES ('tiles', ?, ?, ?, ?, ?, ?, ?)");
  for (const [index, { resolution, tileSpanX, tileSpanY }] of levels.entries()) {
    const [columns, rows] = [Math.round(width / tileSpanX), Math.round(height / tileSpanY)];
    describe.run(
      zoomStart + index,
      columns,
      rows,
      gridSet.tileWidth,
      gridSet.tileHeight,
      resolution,
      resolution,
    );
  }
  const extension = extensionFor(format.mediaType, levels);
  const declare = db.prepare("INSERT INTO gpkg_extensions VALUES ('tiles', ?, ?, ?, 'read-write')");
  for (const [column, name] of extension)
    declare.run(column, name, `http://www.geopackage.org/spec/#extension_${name.slice(5)}`);
}

/** WebP, and resolutions that do not halve, are extensions (GeoPackage 1.3, annex F). */
function extensionFor(
  mediaType: string,
  levels: readonly { readonly resolution: number }[],
): readonly [string | null, string][] {
  const halves = levels.every(
    ({ resolution }, index) =>
      index === 0 || Math.abs((levels[index - 1]?.resolution ?? 0) / resolution - 2) < 1e-9,
  );
  const extensions: [string | null, string][] = [];
  if (mediaType === 'image/webp') extensions.push(['tile_data', 'gpkg_webp']);
  if (!halves) extensions.push([null, 'gpkg_zoom_other']);
  return extensions;
}
