import type { GridLevel, GridSet } from '../../domain/grid-set.ts';
import { sameSrs } from '../../domain/srs.ts';
import type { SqliteDatabase } from '../sqlite-file.ts';

interface MatrixSet {
  readonly srs: number;
  readonly min_x: number;
  readonly min_y: number;
  readonly max_y: number;
}

interface Matrix {
  readonly zoom_level: number;
  readonly tile_width: number;
  readonly tile_height: number;
  readonly pixel_x_size: number;
  readonly pixel_y_size: number;
}

/** Tolerances: of pixel sizes relative to the size, of positions relative to a tile. */
const SIZE_TOLERANCE = 1e-6;
const PLACE_TOLERANCE = 1e-3;

/**
 * Why the tile matrices of a table (GeoPackage 1.3, 2.2.6 and 2.2.7) do not match the grid set; null: they match. Zooms
 * that the grid set lacks are not compared.
 */
export function geoPackageMisfit(
  db: SqliteDatabase,
  table: string,
  gridSet: GridSet,
  origin: 'sw' | 'nw',
): string | null {
  const set = db
    .prepare<[string], MatrixSet>(
      `SELECT organization_coordsys_id AS srs, min_x, min_y, max_y
         FROM gpkg_tile_matrix_set JOIN gpkg_spatial_ref_sys USING (srs_id) WHERE table_name = ?`,
    )
    .get(table);
  if (!set) return 'it describes no tile matrix set';
  if (!sameSrs(set.srs, gridSet.srs)) return `its tiles are in EPSG:${set.srs}, not EPSG:${gridSet.srs}`;
  const matrices = db
    .prepare<[string], Matrix>('SELECT * FROM gpkg_tile_matrix WHERE table_name = ?')
    .all(table);
  for (const matrix of matrices) {
    const level = gridSet.levels[matrix.zoom_level];
    const misfit = level
      ? (sizeMisfit(matrix, gridSet, level) ?? placeMisfit(set, gridSet, level, origin))
      : null;
    if (misfit !== null) return `zoom ${matrix.zoom_level} ${misfit}`;
  }
  return null;
}

function sizeMisfit(matrix: Matrix, { tileWidth, tileHeight }: GridSet, { resolution }: GridLevel) {
  const { tile_width: width, tile_height: height, pixel_x_size: pixel } = matrix;
  if (width !== tileWidth || height !== tileHeight) {
    return `has tiles of ${width} × ${height} pixels, not ${tileWidth} × ${tileHeight}`;
  }
  const sizes = [pixel, matrix.pixel_y_size];
  const fits = sizes.every((size) => Math.abs(size / resolution - 1) < SIZE_TOLERANCE);
  return fits ? null : `has pixels of ${pixel} units, not ${resolution}`;
}

function placeMisfit(
  { min_x: left, min_y: bottom, max_y: top }: MatrixSet,
  { extent }: GridSet,
  level: GridLevel,
  origin: 'sw' | 'nw',
): string | null {
  const { tileSpanX, tileSpanY, rows } = level;
  if (Math.abs(left - extent.minX) > tileSpanX * PLACE_TOLERANCE)
    return `begins at x ${left}, not ${extent.minX}`;
  const [there, here] = origin === 'nw' ? [top, level.top] : [bottom, level.top - rows * tileSpanY];
  return Math.abs(there - here) > tileSpanY * PLACE_TOLERANCE ? `begins at y ${there}, not ${here}` : null;
}
