import type { Dialect } from '../database.ts';

/** The most places of a mark in SQLite: the id of a place is the mark's id times this, plus its index. */
export const MAX_PLACES = 2 ** 20;

/**
 * The index of tiles: in SQLite a file for each local store, in PostgreSQL one for all stores on objects. Packs are 8 ×
 * 8 tiles, pages 16 × 16; `band` groups rows that are close to each other: a rectangle is read band by band. Types are
 * those of PostgreSQL, which SQLite takes for its own.
 *
 * SQLite: a key with an integer of its own and a unique index reads and writes several times as fast as a composite one
 * without a rowid. `mark_places` is found by place: `level` is a hash of layer, grid set and zoom, compared with those
 * of the mark itself.
 *
 * PostgreSQL: emptied pages stay, at zero. `orphans` are objects that no row names. `usage` has several rows for each
 * zoom, so that writers do not wait for each other; their sum counts. `changed`, `renewed` and `dropped` are numbers of
 * transactions: compared with a snapshot, everything that became visible since is found, whatever order it was
 * committed in. The index over `renewed` holds ranges of blocks (BRIN), so that a row keeps its place in the others
 * when it rises. `area` is the rectangle of a mark, moved to the right by a hash of layer, grid set and zoom: see
 * `areaOf` in `storage/index/postgres/mark-index.ts`.
 */
export function createIndex(dialect: Dialect): readonly string[] {
  const isSqlite = dialect === 'sqlite';
  const sqlite = (text: string) => (isSqlite ? text : '');
  const postgres = (text: string) => (isSqlite ? '' : text);
  const id = (type: string) =>
    `id ${isSqlite ? 'integer' : `${type} generated always as identity`} primary key`;
  const ownId = sqlite('id integer primary key,');
  const store = postgres('store,');
  const ownStore = postgres('store text not null,');
  const place =
    'tile_set integer not null, band integer not null, x integer not null, y integer not null, z smallint not null';
  const key = postgres(', primary key (tile_set, z, band, x, y)');
  const markOf = `mark bigint not null ${postgres('references marks (id) on delete cascade')}`;
  const [ties, withTiles] = isSqlite ? ['id', ''] : ['z, band, x, y', 'where tiles > 0'];
  const common = [
    `create table tile_sets (${id('integer')} ${sqlite('autoincrement')}, ${ownStore} layer text not null, identity text not null,
       dropped_at bigint ${postgres(', dropped bigint, swept boolean not null default false')})`,
    `create unique index tile_sets_in_use on tile_sets (${store} identity) where dropped_at is null`,
    `create index tile_sets_of_layer on tile_sets (${store} layer) where dropped_at is null`,
    `create index tile_sets_dropped on tile_sets (${isSqlite ? 'id' : 'dropped'}) where dropped_at is not null`,
    `create table packs (${ownId} ${postgres('bytes bigint not null,')} ${place}, ${postgres('tiles smallint not null,')}
       detail ${isSqlite ? 'blob' : 'bytea'} not null ${key})`,
    `create table pages (${ownId} written_at bigint not null, touched_at bigint not null, used_at bigint not null default 0,
       hits bigint not null default 0, rank double precision not null default 0, ${postgres('renewed bigint not null,')}
       bytes bigint not null, tiles integer not null, ${place} ${key}) ${postgres('with (fillfactor = 80)')}`,
    `create index pages_lru on pages (tile_set, touched_at, used_at, ${ties}) ${withTiles}`,
    `create index pages_lfu on pages (tile_set, rank, touched_at, ${ties}) ${withTiles}`,
    `create table usage (tile_set integer not null, z smallint not null, ${postgres('part smallint not null,')}
       tiles bigint not null, bytes bigint not null, pages bigint not null, changed_at bigint not null,
       primary key (tile_set, z ${postgres(', part')})) ${sqlite('without rowid')} ${postgres('with (fillfactor = 50)')}`,
    `create table marks (${id('bigint')}, ${ownStore} layer text not null, number bigint not null, hides bigint not null,
       open boolean not null, effect text, places text, key text not null
       ${postgres(', changed bigint not null default pg_current_xact_id()::text::bigint')})`,
    `create index marks_of_layer on marks (${store} layer, ${sqlite('open,')} number)`,
    `create index marks_alike on marks (${store} layer, key ${sqlite(', open')})`,
    `create table raises (number ${isSqlite ? 'integer' : 'bigint'} primary key, ${markOf}, effect text not null)`,
    'create index raises_of_mark on raises (mark)',
  ];
  return [...common, ...(isSqlite ? SQLITE : [...postgresOnly(markOf), CHANGE_PACKS])];
}

const SQLITE = [
  'create table tickets (id integer primary key check (id = 1), last integer not null)',
  'insert into tickets values (1, 0)',
  'create unique index packs_by_place on packs (tile_set, z, band, x, y)',
  'create unique index pages_by_place on pages (tile_set, z, band, x, y)',
  `create virtual table mark_places using rtree_i32 (id, min_level, max_level, min_x, max_x, min_y, max_y,
     +mark integer, +grid_set text, +z integer, +parts text)`,
  `create trigger marks_deleted after delete on marks begin
     delete from mark_places where id in (select old.id * ${MAX_PLACES} + key from json_each(old.places)); end`,
  `create table segments (id integer primary key autoincrement, tile_set integer not null, writer text, size integer not null,
     filled integer not null, live integer not null, written_at integer not null)`,
  'create index segments_of_set on segments (tile_set)',
];

/** Tickets begin after those of objects that were written without one. */
const postgresOnly = (markOf: string) => [
  'create sequence tile_tickets start with 2',
  'alter table packs alter column detail set storage main',
  'create index pages_renewed on pages using brin (renewed) with (pages_per_range = 16)',
  `create table orphans (id bigint generated always as identity primary key, object bigint not null, bytes bigint not null,
     tile_set integer not null, x integer not null, y integer not null, z smallint not null)`,
  "create index marks_of_whole_layers on marks (store, layer, number) where key = ''",
  'create index marks_closed on marks (store, layer, number) where not open',
  'create index marks_changed on marks (changed)',
  `create table mark_places (${markOf}, area box not null, min_x integer not null, max_x integer not null, min_y integer not null,
     max_y integer not null, z smallint not null, grid_set text not null, parts text)`,
  'create index mark_places_by_area on mark_places using gist (area)',
  'create index mark_places_of_mark on mark_places (mark)',
];

/**
 * Replaces rows of packs, all or none, with the sums of their pages, the usage of their zoom and the objects that no
 * row needs any longer. The sums follow from the columns of the rows, so they are exact whatever a caller believes. One
 * statement, so that a client that is stopped or cut off in the middle holds no lock. Returns one row with the outcome
 * `done`, `set-gone`, `lease-lost` or `generation-stale`, or a row with the outcome `changed` and the present detail
 * for each pack: another process has changed one of them since it was read.
 *
 * A transaction that raises a mark or drops a tile set holds the layer's lock alone. The statements below the lock see
 * all that was committed before it was given.
 */
const CHANGE_PACKS = `
create function change_packs(
  in_lock text, in_set integer, in_z smallint,
  in_x integer[], in_y integer[], in_seen bytea[], in_next bytea[],
  in_tiles integer[], in_bytes bigint[], in_renewed boolean[],
  in_written_at bigint, in_touched_at bigint, in_changed_at bigint,
  in_orphans bigint[], in_orphan_x integer[], in_orphan_y integer[], in_orphan_bytes bigint[],
  in_lease bigint,
  in_ticket bigint, in_store text, in_layer text, in_grid_set text, in_area box
) returns table (outcome text, x integer, y integer, detail bytea) language plpgsql as $$
#variable_conflict use_column
declare
  done bigint := 0;
  part bigint;
  page_x integer[];
  page_y integer[];
  page_tiles integer[];
  page_bytes bigint[];
  page_renewed boolean[];
  page_count bigint;
begin
  perform pg_advisory_xact_lock_shared(hashtext('tilewarden:' || in_lock));
  if not exists (select from tile_sets s where s.id = in_set and s.dropped_at is null) then
    return query select 'set-gone', 0, 0, null::bytea;
    return;
  end if;
  if in_lease is not null then
    perform from task_leases l where l.token = in_lease for key share;
    if not found then
      return query select 'lease-lost', 0, 0, null::bytea;
      return;
    end if;
  end if;
  if in_ticket is not null and (exists (
    select from marks m where m.store = in_store and m.layer = in_layer and m.key = '' and m.number > in_ticket
  ) or exists (
    select from mark_places r cross join lateral (select from marks m
      where m.id = r.mark and m.store = in_store and m.layer = in_layer and m.number > in_ticket offset 0) m
    where r.area && in_area and r.z = in_z and r.grid_set = in_grid_set
  )) then
    return query select 'generation-stale', 0, 0, null::bytea;
    return;
  end if;
  -- Several rows are locked in one order, so that no two callers wait for each other.
  if cardinality(in_x) > 1 then
    perform from packs p
      join unnest(in_x, in_y) w (x, y) on p.band = w.y >> 5 and p.x = w.x and p.y = w.y
      where p.tile_set = in_set and p.z = in_z order by p.y, p.x for update of p;
  end if;
  if exists (
    select from unnest(in_x, in_y, in_seen) w (x, y, seen)
    left join packs p on p.tile_set = in_set and p.z = in_z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y
    where p.detail is distinct from w.seen
  ) then
    return query
      select 'changed', w.x, w.y, p.detail from unnest(in_x, in_y) w (x, y)
      left join packs p on p.tile_set = in_set and p.z = in_z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y;
    return;
  end if;
  select array_agg(d.x), array_agg(d.y), array_agg(d.tiles), array_agg(d.bytes), array_agg(d.renewed)
    into page_x, page_y, page_tiles, page_bytes, page_renewed
    from (
      select w.x >> 1 as x, w.y >> 1 as y, sum(w.tiles - coalesce(p.tiles, 0))::integer as tiles,
        sum(w.bytes - coalesce(p.bytes, 0))::bigint as bytes, bool_or(w.renewed) as renewed
      from unnest(in_x, in_y, in_tiles, in_bytes, in_renewed) w (x, y, tiles, bytes, renewed)
      left join packs p on p.tile_set = in_set and p.z = in_z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y
      group by w.x >> 1, w.y >> 1
    ) d;
  insert into packs (tile_set, z, band, x, y, tiles, bytes, detail)
    select in_set, in_z, w.y >> 5, w.x, w.y, w.tiles, w.bytes, w.next
    from unnest(in_x, in_y, in_seen, in_next, in_tiles, in_bytes) w (x, y, seen, next, tiles, bytes) where w.seen is null
    on conflict do nothing;
  get diagnostics part = row_count;
  done := done + part;
  update packs p set detail = w.next, tiles = w.tiles, bytes = w.bytes
    from unnest(in_x, in_y, in_seen, in_next, in_tiles, in_bytes) w (x, y, seen, next, tiles, bytes)
    where w.seen is not null and w.next is not null and p.detail = w.seen
      and p.tile_set = in_set and p.z = in_z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y;
  get diagnostics part = row_count;
  done := done + part;
  delete from packs p
    using unnest(in_x, in_y, in_seen, in_next) w (x, y, seen, next)
    where w.seen is not null and w.next is null and p.detail = w.seen
      and p.tile_set = in_set and p.z = in_z and p.band = w.y >> 5 and p.x = w.x and p.y = w.y;
  get diagnostics part = row_count;
  done := done + part;
  if done <> cardinality(in_x) then
    raise exception 'packs were changed by another process' using errcode = 'serialization_failure';
  end if;
  with counted as (
    insert into pages as p (tile_set, z, band, x, y, tiles, bytes, written_at, touched_at, renewed)
      select in_set, in_z, w.y >> 4, w.x, w.y, w.tiles, w.bytes, coalesce(in_written_at, 0), coalesce(in_touched_at, 0),
        case when w.renewed then pg_current_xact_id()::text::bigint else 0 end
      from unnest(page_x, page_y, page_tiles, page_bytes, page_renewed) w (x, y, tiles, bytes, renewed)
      order by w.y, w.x
      on conflict (tile_set, z, band, x, y) do update set tiles = p.tiles + excluded.tiles, bytes = p.bytes + excluded.bytes,
        written_at = greatest(p.written_at, excluded.written_at), touched_at = greatest(p.touched_at, excluded.touched_at),
        renewed = greatest(p.renewed, excluded.renewed), hits = case when p.tiles + excluded.tiles > 0 then p.hits else 0 end,
        used_at = case when p.tiles + excluded.tiles > 0 then p.used_at else 0 end,
        rank = case when p.tiles + excluded.tiles > 0 then p.rank else 0 end
      returning p.x, p.y, p.tiles)
  select sum((c.tiles > 0)::int - (c.tiles - w.tiles > 0)::int) into page_count
    from counted c join unnest(page_x, page_y, page_tiles) w (x, y, tiles) on w.x = c.x and w.y = c.y;
  insert into usage as u (tile_set, z, part, tiles, bytes, pages, changed_at)
    select in_set, in_z, pg_backend_pid() % 16, sum(w.tiles), sum(w.bytes), page_count, in_changed_at
    from unnest(page_tiles, page_bytes) w (tiles, bytes) having count(*) > 0
    on conflict (tile_set, z, part) do update set tiles = u.tiles + excluded.tiles, bytes = u.bytes + excluded.bytes,
      pages = u.pages + excluded.pages, changed_at = greatest(u.changed_at, excluded.changed_at);
  insert into orphans (object, tile_set, z, x, y, bytes)
    select w.object, in_set, in_z, w.x, w.y, w.bytes
    from unnest(in_orphans, in_orphan_x, in_orphan_y, in_orphan_bytes) w (object, x, y, bytes);
  return query select 'done', 0, 0, null::bytea;
end $$`;
