import type { Polygon } from '../domain/bounds.ts';
import { misconfigured } from '../domain/errors.ts';
import type { AreaReading, AreaSource } from '../domain/named-area.ts';
import { checkShape } from '../domain/named-area.ts';
import { readWkb, wkbOfGeoPackage } from '../domain/read-wkb.ts';
import type { Clock } from '../lib/clock.ts';
import { createPace } from '../lib/yielding.ts';
import { openSqliteFile, type SqliteDatabase } from '../sources/sqlite-file.ts';

export const POINTS_PER_TURN = 20_000;
const MAX_ROWS = 1_000_000;

/** The shape of an area as its source has it now. Throws what the source does, and `config-invalid` for an unusable one. */
export async function readArea(source: AreaSource, srs: number, clock: Clock): Promise<AreaReading> {
  const { geometries, srs: own } =
    'file' in source ? readTable(source.file, source.table, clock) : await readQuery(source);
  const pace = createPace(POINTS_PER_TURN);
  const polygons: Polygon[] = [];
  let code = own;
  for (const geometry of geometries) {
    const read = await readWkb(geometry, pace);
    code ??= read.srs;
    if (read.srs !== null && read.srs !== code)
      throw misconfigured(`It has geometries in EPSG:${code} and in EPSG:${read.srs}.`);
    polygons.push(...read.polygons);
  }
  const reading = { srs: code ?? srs, polygons };
  checkShape(reading);
  return reading;
}

interface Geometries {
  /** WKB. */
  readonly geometries: readonly Buffer[];
  /** Common CRS of all shapes; null: each has its own, or that of the declaration. */
  readonly srs: number | null;
}

function readTable(path: string, table: string, clock: Clock): Geometries {
  const file = openSqliteFile(path, clock, (db) => readGeometries(db, table));
  try {
    return file.current().tables;
  } finally {
    file.close();
  }
}

function readGeometries(db: SqliteDatabase, table: string): Geometries {
  const columns = db
    .prepare<[string], { column_name: string; srs_id: number }>(
      'select column_name, srs_id from gpkg_geometry_columns where table_name = ?',
    )
    .get(table);
  if (!columns) throw misconfigured(`The GeoPackage has no table ${table} with geometries.`);
  const name = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const column = name(columns.column_name);
  const rows = db
    .prepare<[], Buffer>(`select ${column} from ${name(table)} where ${column} is not null limit ${MAX_ROWS}`)
    .pluck()
    .all();
  return { geometries: rows.flatMap((blob) => wkbOfGeoPackage(blob) ?? []), srs: columns.srs_id };
}

async function readQuery({
  url,
  query,
}: {
  readonly url: string;
  readonly query: string;
}): Promise<Geometries> {
  const { connectSession, endSession } = await import('../db/postgres/session-client.ts');
  const session = await connectSession(url);
  try {
    // A declared query must not change data.
    await session.client.query('begin read only');
    const { rows } = await session.client.query<unknown[]>({ text: query, rowMode: 'array' });
    return { geometries: rows.flatMap(([value]) => geometryOf(value)), srs: null };
  } finally {
    await endSession(session);
  }
}

/** PostGIS writes geometries in hexadecimal; `ST_AsBinary` gives bytes. */
function geometryOf(value: unknown): readonly Buffer[] {
  if (value === null) return [];
  if (Buffer.isBuffer(value)) return [value];
  if (typeof value === 'string' && /^[0-9A-F]{10}/i.test(value)) return [Buffer.from(value, 'hex')];
  throw misconfigured('The first column of the query must be a geometry.');
}
