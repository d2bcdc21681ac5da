import { createHash } from 'node:crypto';
import { invalid } from '../../domain/errors.ts';
import { parseTableName, quoteName, quoteText, type TableName } from './table-name.ts';

export interface ChangesSqlOptions {
  /** The table with the geometries; null: only the table of changes is made. */
  readonly source: string | null;
  readonly geometry?: string;
  readonly table: string;
  /** Null: all layers of the feed. */
  readonly layer?: string | null;
}

/** Statements for PostgreSQL 10 or later with PostGIS. They may be run again. Throws `request-invalid`. */
export function changesSql({ source, geometry = 'geom', table, layer = null }: ChangesSqlOptions): string {
  const target = tableIn(table, 'table');
  const create = `create table if not exists ${target.quoted} (
  id bigint generated always as identity primary key,
  at timestamptz default now(),
  layer text,
  minx float8,
  miny float8,
  maxx float8,
  maxy float8,
  srid int
);
`;
  if (source === null) return create;
  const watched = tableIn(source, 'source');
  const column = quoteName(geometry);
  const value = layer === null ? 'null' : quoteText(layer);
  const change = (rows: string) => `  insert into ${target.quoted} (layer, minx, miny, maxx, maxy, srid)
  select distinct ${value}, st_xmin(${column}), st_ymin(${column}), st_xmax(${column}), st_ymax(${column}),
    nullif(st_srid(${column}), 0)
  from ${rows} where not st_isempty(${column});`;
  const wake = `  notify ${quoteName(table)};
  return null;`;
  const of = (event: string) => triggerName(watched, target, event);
  return `${create}
${functionOf(of('inserted'), `${change('new_rows')}\n${wake}`)}
${functionOf(of('updated'), `${change(`(select ${column} from old_rows union all select ${column} from new_rows) as edited`)}\n${wake}`)}
${functionOf(of('deleted'), `${change('old_rows')}\n${wake}`)}
${functionOf(of('truncated'), `  insert into ${target.quoted} (layer) values (${value});\n${wake}`)}
${triggerOf(of('inserted'), watched, 'insert', 'referencing new table as new_rows')}
${triggerOf(of('updated'), watched, 'update', 'referencing old table as old_rows new table as new_rows')}
${triggerOf(of('deleted'), watched, 'delete', 'referencing old table as old_rows')}
${triggerOf(of('truncated'), watched, 'truncate')}`;
}

interface Named {
  /** In the schema of the table of changes. */
  readonly quoted: string;
  readonly trigger: string;
}

/** At most 63 bytes, PostgreSQL's limit, for tables of any name. */
function triggerName(source: TableName, target: TableName, event: string): Named {
  const plain = `${source.schema ?? ''}_${source.table}`.replace(/[^A-Za-z0-9_]/g, '_');
  const digest = createHash('sha256').update(source.quoted).digest('hex').slice(0, 8);
  const name = `tile_changes_${plain.slice(0, 30)}_${digest}_${event}`;
  const schema = target.schema === null ? '' : `${quoteName(target.schema)}.`;
  return { quoted: `${schema}${quoteName(name)}`, trigger: quoteName(name) };
}

function functionOf({ quoted }: Named, body: string): string {
  // Names may contain anything: the mark is one that they do not.
  let mark = '$tilewarden$';
  for (let n = 1; body.includes(mark); n++) mark = `$tilewarden${n}$`;
  return `create or replace function ${quoted}() returns trigger language plpgsql
  security definer set search_path from current as ${mark}
begin
${body}
end;
${mark};
`;
}

function triggerOf({ quoted, trigger }: Named, source: TableName, event: string, rows = ''): string {
  return `drop trigger if exists ${trigger} on ${source.quoted};
create trigger ${trigger} after ${event} on ${source.quoted} ${rows}
  for each statement execute function ${quoted}();
`;
}

function tableIn(text: string, field: string): TableName {
  const name = parseTableName(text);
  if (name) return name;
  throw invalid(`${field} must be a table such as public.parcels, not ${JSON.stringify(text)}.`);
}
