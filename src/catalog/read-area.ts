import { createHash } from 'node:crypto';
import { type AreaShape, boundsOfRing, ringsOf } from '../domain/area-shape.ts';
import { type Bounds, boundsAround, type Polygon } from '../domain/bounds.ts';
import { misconfigured } from '../domain/errors.ts';
import { type AreaSource, type MeasuredShape, measure } from '../domain/named-area.ts';
import type { ShapeInCrs } from '../domain/placed-area.ts';
import { readWkb, wkbOfGeoPackage } from '../domain/read-wkb.ts';
import type { Clock } from '../lib/clock.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { plainReason } from '../lib/plain-reason.ts';
import { openSqliteFile, type SqliteDatabase } from '../sources/sqlite-file.ts';

const MAX_ROWS = 1_000_000;
/** Beyond it one box is marked. */
const MAX_BOXES = 1000;

/** Reads the shape of an area again. `boxes` surround the places that have changed; null: everywhere. */
export type ShapeReader = (
  source: AreaSource,
  srs: number,
  was: ShapeInCrs,
) => Promise<MeasuredShape & { readonly boxes: readonly Bounds[] | null }>;

/** The current shape of an area, from its source. Blocks its thread. Throws `config-invalid` with the reason. */
export async function readArea(source: AreaSource, srs: number, clock: Clock): Promise<MeasuredShape> {
  const { geometries, srs: own } = await readGeometries(source, clock).catch((error: unknown) => {
    throw misconfigured(hideCredentials(reasonOf(error, source)));
  });
  const polygons: Polygon[] = [];
  let code = own;
  for (const geometry of geometries) {
    const read = readWkb(geometry);
    code ??= read.srs;
    if (read.srs !== null && read.srs !== code)
      throw misconfigured(`It has geometries in EPSG:${code} and in EPSG:${read.srs}.`);
    for (const polygon of read.polygons) polygons.push(polygon);
  }
  return measure(code ?? srs, polygons);
}

/** The reason, with the host of a database; messages about files name the file. */
function reasonOf(error: unknown, source: AreaSource): string {
  const reason = plainReason(error);
  return 'url' in source ? `${new URL(source.url).host}: ${reason}` : reason;
}

/** Boxes around all places that are in one of the shapes and not in the other. */
export function changedBoxes(before: AreaShape, after: AreaShape): readonly Bounds[] {
  const [old, fresh] = [ringsByDigest(before), ringsByDigest(after)];
  const gone = [...old].filter(([digest]) => !fresh.has(digest)).map(([, ring]) => ring);
  const added = [...fresh].filter(([digest]) => !old.has(digest)).map(([, ring]) => ring);
  const boxes =
    planOf(before) === planOf(after) && gone.length === added.length
      ? gone.map((ring, index) => boundsOfDifference(ring, added[index] ?? ring))
      : [...gone, ...added].map(boundsOfRing);
  return boxes.length > MAX_BOXES ? [boundsAround(boxes)] : boxes;
}

/** How many rings each polygon has. */
function planOf(shape: AreaShape): string {
  return `${Array.from(ringsOf(shape), ({ polygon }) => polygon)}`;
}

function ringsByDigest(shape: AreaShape): ReadonlyMap<string, Float64Array> {
  return new Map(
    Array.from(ringsOf(shape), ({ points }) => [createHash('sha1').update(points).digest('base64'), points]),
  );
}

/** The points of both rings from the last one that they share at the start to the first that they share at the end. */
function boundsOfDifference(a: Float64Array, b: Float64Array): Bounds {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const even = (coordinates: number) => Math.max(0, 2 * Math.floor(coordinates / 2) - 2);
  const part = (ring: Float64Array) => boundsOfRing(ring.subarray(even(start), ring.length - even(end)));
  return boundsAround([part(a), part(b)]);
}

async function readGeometries(source: AreaSource, clock: Clock): Promise<Geometries> {
  return 'file' in source ? readTable(source.file, source.table, clock) : readQuery(source.url, source.query);
}

interface Geometries {
  /** WKB. */
  readonly geometries: readonly Buffer[];
  /** Common CRS of all shapes; null: each has its own, or that of the declaration. */
  readonly srs: number | null;
}

function readTable(path: string, table: string, clock: Clock): Geometries {
  const file = openSqliteFile(path, clock, (db) => geometriesIn(db, table));
  try {
    return file.current().tables;
  } finally {
    file.close();
  }
}

function geometriesIn(db: SqliteDatabase, table: string): Geometries {
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

async function readQuery(url: string, query: string): Promise<Geometries> {
  const { queryReadOnly } = await import('../db/postgres/session-client.ts');
  const rows = await queryReadOnly(url, query);
  return { geometries: rows.flatMap(([value]) => geometryOf(value)), srs: null };
}

/** PostGIS writes geometries in hexadecimal; `ST_AsBinary` gives bytes. */
function geometryOf(value: unknown): readonly Buffer[] {
  if (value === null) return [];
  if (Buffer.isBuffer(value)) return [value];
  if (typeof value === 'string' && /^[0-9A-F]{10}/i.test(value)) return [Buffer.from(value, 'hex')];
  throw misconfigured('The first column of the query must be a geometry.');
}
