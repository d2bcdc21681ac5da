import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import { PAGE_SIZE, type TileSetKey, tileSetId, tileSetOf } from '../../../domain/tile-key.ts';
import { blockAt } from '../../../domain/tile-rect.ts';
import type { EvictionOrder, PageFilter, PageUsage, StoreUsage, TileChange, UsedPage } from '../../store.ts';
import { bandOfPage, FIRST_PAGE, type PageTables, readPages, readUsage, touchedAt } from '../pages.ts';
import { type Script, statement, words } from '../script.ts';
import { eachSlice } from '../slices.ts';
import { askIndex, runScript } from './ask-index.ts';

/** The sums by page and zoom in PostgreSQL, and the changes since a snapshot. */
export function createPageIndex(database: Database, store: string) {
  const tables = tablesOf(store);

  function run<Row, Result>(script: Script<Row, Result>): Promise<Result> {
    return askIndex(() => runScript(database.query, script));
  }

  async function rowsOf<Row>(query: RawBuilder<Row>): Promise<readonly Row[]> {
    return (await askIndex(() => query.execute(database.query))).rows;
  }

  /** See `StoreEdit`. Returns how many of the pages have tiles. */
  async function use(set: TileSetKey, z: number, uses: readonly UsedPage[]): Promise<number> {
    const used = sql`tile_sets s, unnest(${uses.map(({ pageX }) => pageX)}::int[], ${uses.map(({ pageY }) => pageY)}::int[],
        ${uses.map(({ pageY }) => bandOfPage(pageY))}::int[], ${uses.map(({ hits }) => hits)}::bigint[],
        ${uses.map(({ usedAt }) => usedAt)}::bigint[], ${uses.map(({ usedAt }) => touchedAt(usedAt))}::bigint[],
        ${uses.map(({ rank }) => rank)}::float8[]) w (x, y, band, hits, used_at, touched_at, rank)
      where s.store = ${store} and s.identity = ${tileSetId(set)} and s.dropped_at is null and p.tile_set = s.id
        and p.z = ${z} and p.band = w.band and p.x = w.x and p.y = w.y and p.tiles > 0`;
    // In the order of `change_packs`, so that there is no deadlock.
    const lock = sql`select from pages p, ${used} order by p.y, p.x for update of p`;
    const query = sql`update pages p set hits = p.hits + w.hits, used_at = greatest(p.used_at, w.used_at),
        touched_at = greatest(p.touched_at, w.touched_at),
        rank = greatest(p.rank, w.rank) + ln(1 + power(2, -least(1000, abs(p.rank - w.rank)))) / ln(2::float8)
      from ${used}`;
    const { numAffectedRows } = await askIndex(() =>
      database.transaction(null, async (inside) => {
        await lock.execute(inside);
        return query.execute(inside);
      }),
    );
    return Number(numAffectedRows ?? 0);
  }

  /** See `Store.changesSince`. The cursor is a snapshot: changes are rows that were not visible in it. */
  async function changesSince(since: string | null) {
    const [{ now: cursor } = { now: '' }] = await rowsOf(
      sql<{ now: string }>`select pg_current_snapshot()::text as now`,
    );
    if (since === null) return { changes: [], cursor };
    // A database that was restored from a backup repeats numbers of transactions.
    if (oldestOpen(since) > oldestOpen(cursor)) return { changes: [{ kind: 'everything' } as const], cursor };
    const raised = (await rowsOf(marksSince(store, since))).map(changeOfMark);
    const dropped = sql<{ layer: string }>`select distinct layer from tile_sets s
      where store = ${store} and dropped_at is not null and ${isNew('s.dropped', since)}`;
    const gone = (await rowsOf(dropped)).map(changeOfLayer);
    return { changes: [...raised, ...gone, ...(await renewedSince(since))], cursor };
  }

  async function renewedSince(since: string): Promise<readonly TileChange[]> {
    const isRenewed = sql`from pages p join tile_sets s on s.id = p.tile_set
      where ${isNew('p.renewed', since)} and s.store = ${store} and s.dropped_at is null`;
    const pages = await rowsOf(
      sql<RenewedPage>`select s.identity, p.z, p.x, p.y ${isRenewed} limit ${MAX_PAGES + 1}`,
    );
    if (pages.length <= MAX_PAGES) return pages.map(changeOfPage);
    return (await rowsOf(sql<{ layer: string }>`select distinct s.layer ${isRenewed}`)).map(changeOfLayer);
  }

  return {
    use,
    changesSince,
    usage: (layer?: string): Promise<StoreUsage> => run(readUsage(tables, layer)),
    pages: (filter: PageFilter | EvictionOrder): AsyncGenerator<readonly PageUsage[]> =>
      eachSlice(FIRST_PAGE, (after) => run(readPages(tables, filter, after))),
  };
}

function tablesOf(store: string): PageTables {
  const dropped = statement`(select id from tile_sets where store = ${store} and dropped_at is not null and not swept)`;
  const orphans = statement`from orphans o join tile_sets s on s.id = o.tile_set where s.store = ${store}`;
  return {
    isOwn: statement`store = ${store}`,
    sweeping: statement`select
      (select count(*) from packs where tile_set in ${dropped}) + (select count(*) ${orphans}) as files,
      (select coalesce(sum(bytes), 0)::bigint from usage where tile_set in ${dropped})
        + (select coalesce(sum(o.bytes), 0)::bigint ${orphans}) as bytes`,
    withSet: words('join tile_sets s on s.id = p.tile_set'),
    withPages: (selected) => statement`cross join lateral (select p.* ${selected}) p`,
    ties: ['tile_set', 'z', 'band', 'x', 'y'],
  };
}

interface ChangedMark {
  readonly layer: string;
  readonly grid_set: string | null;
  readonly z: number;
  readonly min_x: number;
  readonly min_y: number;
  readonly max_x: number;
  readonly max_y: number;
}

type RenewedPage = { readonly identity: string; readonly z: number; readonly x: number; readonly y: number };

/** Limit of pages that are reported singly; above it, their layers are reported. */
const MAX_PAGES = 2000;

function marksSince(store: string, since: string) {
  return sql<ChangedMark>`select m.layer, r.grid_set, r.z, r.min_x, r.min_y, r.max_x, r.max_y
    from marks m left join mark_places r on r.mark = m.id
    where m.store = ${store} and (m.key = '' or r.mark is not null) and ${isNew('m.changed', since)}`;
}

/** Whether a transaction became visible after the snapshot. The first condition is implied, but can use the index. */
function isNew(changed: string, since: string): RawBuilder<unknown> {
  const column = sql.ref(changed);
  return sql`${column} >= ${oldestOpen(since)}
    and not pg_visible_in_snapshot(${column}::text::xid8, ${since}::pg_snapshot)`;
}

/** `xmin` of a snapshot: all transactions before it had ended. */
function oldestOpen(snapshot: string): number {
  return Number(snapshot.split(':')[0]);
}

function changeOfLayer({ layer }: { readonly layer: string }): TileChange {
  return { kind: 'layer', layer: JSON.parse(layer) };
}

function changeOfMark({ layer, grid_set: gridSet, z, ...at }: ChangedMark): TileChange {
  if (gridSet === null) return changeOfLayer({ layer });
  const rect = { minX: at.min_x, minY: at.min_y, maxX: at.max_x, maxY: at.max_y };
  return { kind: 'place', layer: JSON.parse(layer), place: { gridSet: JSON.parse(gridSet), z, rect } };
}

function changeOfPage({ identity, z, x, y }: RenewedPage): TileChange {
  return { kind: 'tiles', set: tileSetOf(identity), z, rect: blockAt(x, y, PAGE_SIZE) };
}
