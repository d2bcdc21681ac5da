/**
 * A tile set that is dropped and filled again has a new row; its packs have `columns` by `rows` tiles, and places of packs
 * count packs. `band` is `y` without its last five bits (packs) or three (pages), so that neighbours are close in the index.
 * `detail` is what `storage/packs/pack-detail.ts` writes. Emptied pages stay, at zero. `pack_orphans` are objects that no
 * row names. `changed` and `renewed` are numbers of transactions: with what `pg_snapshot_xmin` said at an earlier look, everything
 * that became visible since is found, whatever order it was committed in. Their indexes hold ranges of blocks (BRIN), so
 * that a row keeps its place in the others when they rise.
 */
const TABLES = [
  `create table tile_sets (
     id integer generated always as identity primary key,
     store text not null,
     layer text not null,
     identity text not null,
     columns smallint not null,
     rows smallint not null,
     dropped_at bigint,
     dropped bigint,
     swept boolean not null default false
   )`,
  'create unique index tile_sets_live on tile_sets (store, identity) where dropped_at is null',
  'create index tile_sets_dropped on tile_sets (dropped) where dropped_at is not null',
  'create index tile_sets_layer on tile_sets (store, layer) where dropped_at is null',
  `create table packs (
     tile_set integer not null,
     band integer not null,
     x integer not null,
     y integer not null,
     z smallint not null,
     detail bytea not null,
     primary key (tile_set, z, band, x, y)
   )`,
  'alter table packs alter column detail set storage main',
  `create table pack_pages (
     written_at bigint not null,
     changed bigint not null,
     renewed bigint not null,
     bytes bigint not null check (bytes >= 0),
     tile_set integer not null,
     band integer not null,
     x integer not null,
     y integer not null,
     tiles integer not null check (tiles >= 0),
     z smallint not null,
     primary key (tile_set, z, band, x, y)
   ) with (fillfactor = 80)`,
  'create index pack_pages_changed on pack_pages using brin (changed) with (pages_per_range = 16)',
  'create index pack_pages_renewed on pack_pages using brin (renewed) with (pages_per_range = 16)',
  `create table pack_orphans (
     id bigint generated always as identity primary key,
     object bigint not null,
     tile_set integer not null,
     x integer not null,
     y integer not null,
     z smallint not null,
     bytes integer not null
   )`,
  `create table tile_generations (
     store text not null,
     layer text not null,
     number bigint not null,
     primary key (store, layer)
   )`,
  `create table tile_marks (
     store text not null,
     layer text not null,
     number bigint not null,
     grid_set text,
     z smallint,
     min_x integer,
     min_y integer,
     max_x integer,
     max_y integer,
     changed bigint not null
   )`,
  'create index tile_marks_place on tile_marks (store, layer, grid_set, z)',
  'create index tile_marks_changed on tile_marks (changed)',
];

/**
 * Replaces rows of packs by others, all or none, with the statistics of their pages and the objects that are no longer needed
 * any more. One statement, so that a client that is stopped or cut off in the middle holds no lock. Answers one row with
 * the outcome `done`, `set-gone`, `lease-lost` or `generation-stale`, or a row with the outcome `changed` and the present
 * detail for each pack: another process has changed one of them since it was read.
 *
 * A transaction that raises a generation or drops a tile set holds the layer's lock alone. The statements below the lock see all
 * that was committed before it was given.
 */
const CHANGE_PACKS = `
create function change_packs(
  in_lock text, in_set integer, in_z smallint,
  in_x integer[], in_y integer[], in_seen bytea[], in_next bytea[],
  in_page_x integer[], in_page_y integer[], in_tiles integer[], in_bytes bigint[], in_renewed boolean[],
  in_written_at bigint,
  in_orphans bigint[], in_orphan_x integer[], in_orphan_y integer[], in_orphan_bytes integer[],
  in_lease bigint,
  in_generation bigint, in_store text, in_layer text, in_grid_set text,
  in_min_x integer, in_min_y integer, in_max_x integer, in_max_y integer
) returns table (outcome text, x integer, y integer, detail bytea) language plpgsql as $$
#variable_conflict use_column
declare
  xact bigint := pg_current_xact_id()::text::bigint;
  done bigint := 0;
  part bigint;
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
  if in_generation is not null and exists (
    select from tile_marks m
    where m.store = in_store and m.layer = in_layer and m.number > in_generation
      and (m.grid_set is null or (m.grid_set = in_grid_set and m.z = in_z
        and m.min_x <= in_max_x and m.max_x >= in_min_x and m.min_y <= in_max_y and m.max_y >= in_min_y))
  ) then
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
  insert into packs (tile_set, z, band, x, y, detail)
    select in_set, in_z, w.y >> 5, w.x, w.y, w.next
    from unnest(in_x, in_y, in_seen, in_next) w (x, y, seen, next) where w.seen is null
    on conflict do nothing;
  get diagnostics part = row_count;
  done := done + part;
  update packs p set detail = w.next
    from unnest(in_x, in_y, in_seen, in_next) w (x, y, seen, next)
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
    raise exception 'packs were changed meanwhile' using errcode = 'serialization_failure';
  end if;
  insert into pack_pages (tile_set, z, band, x, y, tiles, bytes, written_at, changed, renewed)
    select in_set, in_z, w.y >> 3, w.x, w.y, 0, 0, 0, 0, 0 from unnest(in_page_x, in_page_y) w (x, y)
    order by w.y, w.x
    on conflict do nothing;
  if cardinality(in_page_x) > 1 then
    perform from pack_pages p
      join unnest(in_page_x, in_page_y) w (x, y) on p.band = w.y >> 3 and p.x = w.x and p.y = w.y
      where p.tile_set = in_set and p.z = in_z order by p.y, p.x for update of p;
  end if;
  update pack_pages p set
    tiles = p.tiles + w.tiles, bytes = p.bytes + w.bytes,
    written_at = greatest(p.written_at, in_written_at),
    changed = xact, renewed = case when w.renewed then xact else p.renewed end
    from unnest(in_page_x, in_page_y, in_tiles, in_bytes, in_renewed) w (x, y, tiles, bytes, renewed)
    where p.tile_set = in_set and p.z = in_z and p.band = w.y >> 3 and p.x = w.x and p.y = w.y;
  insert into pack_orphans (object, tile_set, z, x, y, bytes)
    select w.object, in_set, in_z, w.x, w.y, w.bytes
    from unnest(in_orphans, in_orphan_x, in_orphan_y, in_orphan_bytes) w (object, x, y, bytes);
  return query select 'done', 0, 0, null::bytea;
end $$`;

/** Marks that readers of a store obey until the tiles concerned have been removed or marked themselves. */
const OPEN_MARKS = [
  `create table open_marks (
     store text not null, layer text not null, number bigint not null, effect jsonb not null,
     grid_set text, z smallint, place jsonb)`,
  'create index open_marks_layer on open_marks (store, layer)',
];

/** The index of stores whose tiles are in an object store, in PostgreSQL. */
export const CREATE_PACKS = [
  ...TABLES,
  CHANGE_PACKS,
  'create sequence tile_tickets start with 2',
  ...OPEN_MARKS,
];
