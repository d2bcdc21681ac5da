import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import { PAGE_SIZE, pageOf, type TileSetKey, tileSetId, tileSetOf } from '../../../domain/tile-key.ts';
import { blockAt } from '../../../domain/tile-rect.ts';
import type {
  EvictionOrder,
  LevelUsage,
  PageFilter,
  PageUsage,
  StoreUsage,
  TileChange,
  UsedPage,
} from '../../store.ts';
import { edgesOf } from '../mark-rows.ts';
import { bandOfPage, touchedAt, withSets } from '../page-rows.ts';
import { askIndex } from './ask-index.ts';

interface PageRow extends Omit<PageUsage, 'set'> {
  readonly identity: string;
  readonly tileSet: number;
  readonly band: number;
}

const COLUMNS =
  sql.raw(`s.identity, p.tile_set as "tileSet", p.z, p.band, p.x as "pageX", p.y as "pageY", p.tiles, p.bytes,
  p.written_at as "writtenAt", p.touched_at as "touchedAt", p.used_at as "usedAt", p.hits, p.rank`);
/** Rows that are read together. */
const PAGE_ROWS = 1000;
/** The same in the order of eviction, where so many rows of so many tile sets are merged. */
const MERGED_ROWS = 64;
const PLACE = ['tile_set', 'z', 'band', 'x', 'y'] as const;
const ORDERS = {
  LRU: ['touched_at', 'used_at', ...PLACE],
  LFU: ['rank', 'touched_at', ...PLACE],
} as const;
/** Greater than the page before the first. */
const START = -1;

/** The sums over pages and zooms in PostgreSQL, and what has changed. */
export class PageIndex {
  readonly #database: Database;
  readonly #store: string;

  constructor(database: Database, store: string) {
    this.#database = database;
    this.#store = store;
  }

  async usage(layer?: string): Promise<StoreUsage> {
    const isInLayer = layer === undefined ? sql`` : sql`and s.layer = ${JSON.stringify(layer)}`;
    const levels = await this.#rows(sql<Omit<LevelUsage, 'set'> & { readonly identity: string }>`
      select s.identity, u.z, sum(u.tiles)::bigint as tiles, sum(u.bytes)::bigint as bytes, sum(u.pages)::bigint as pages,
        max(u.changed_at) as "changedAt"
      from tile_sets s join usage u on u.tile_set = s.id
      where s.store = ${this.#store} and s.dropped_at is null ${isInLayer} group by s.id, u.z having sum(u.tiles) > 0`);
    const dropped = sql`(select id from tile_sets where store = ${this.#store} and dropped_at is not null and not swept)`;
    const orphans = sql`from orphans o join tile_sets s on s.id = o.tile_set where s.store = ${this.#store}`;
    const [sweeping] = await this.#rows(sql<StoreUsage['sweeping']>`select
      (select count(*) from packs where tile_set in ${dropped}) + (select count(*) ${orphans}) as files,
      (select coalesce(sum(bytes), 0)::bigint from usage where tile_set in ${dropped})
        + (select coalesce(sum(o.bytes), 0)::bigint ${orphans}) as bytes`);
    return {
      levels: withSets(levels),
      sweeping: sweeping ?? { files: 0, bytes: 0 },
    };
  }

  async *pages(filter: PageFilter | EvictionOrder): AsyncGenerator<readonly PageUsage[]> {
    const [size, order] = 'first' in filter ? [MERGED_ROWS, ORDERS[filter.first]] : [PAGE_ROWS, PLACE];
    let after: readonly number[] | null = order.map(() => START);
    while (after) {
      const query: RawBuilder<PageRow> =
        'first' in filter ? this.#first(filter, after) : this.#within(filter, after);
      const rows: readonly PageRow[] = await this.#rows(query);
      if (rows.length > 0) yield withSets(rows).map(({ tileSet: _, band: __, ...page }) => page);
      const last = rows.at(-1);
      after = last && rows.length === size ? order.map((column) => cursorValue(last, column)) : null;
    }
  }

  #within(filter: PageFilter, after: readonly number[]): RawBuilder<PageRow> {
    const isInSet = filter.set ? sql`and s.identity = ${tileSetId(filter.set)}` : sql``;
    return sql<PageRow>`select ${COLUMNS} from pages p join tile_sets s on s.id = p.tile_set
      where s.store = ${this.#store} and s.dropped_at is null ${isInSet} and p.tiles > 0 and ${withinPages(filter)}
        and ${isAfter(PLACE, after)} order by ${columnsOf(PLACE)} limit ${PAGE_ROWS}`;
  }

  /** The tile sets with the earliest pages are merged, so that those of other layers and stores are not passed over one by one. */
  #first({ first, layer }: EvictionOrder, after: readonly number[]): RawBuilder<PageRow> {
    const order = ORDERS[first];
    const isInLayer = layer === undefined ? sql`` : sql`and s.layer = ${JSON.stringify(layer)}`;
    const next = (limit: number) => sql`cross join lateral (
      select * from pages p where p.tile_set = s.id and p.tiles > 0 and ${isAfter(order, after)}
      order by ${columnsOf(order)} limit ${limit}) p`;
    return sql<PageRow>`select ${COLUMNS} from (
        select s.id, s.identity from tile_sets s ${next(1)}
        where s.store = ${this.#store} and s.dropped_at is null ${isInLayer} order by ${columnsOf(order)} limit ${MERGED_ROWS}
      ) s ${next(MERGED_ROWS)} order by ${columnsOf(order)} limit ${MERGED_ROWS}`;
  }

  /** See `StoreEdit`. Returns how many of the pages have tiles. */
  async use(set: TileSetKey, z: number, uses: readonly UsedPage[]): Promise<number> {
    const query = sql`update pages p set hits = p.hits + w.hits, used_at = greatest(p.used_at, w.used_at),
        touched_at = greatest(p.touched_at, w.touched_at),
        rank = greatest(p.rank, w.rank) + ln(1 + power(2, -least(1000, abs(p.rank - w.rank)))) / ln(2::float8)
      from tile_sets s, unnest(${uses.map(({ pageX }) => pageX)}::int[], ${uses.map(({ pageY }) => pageY)}::int[],
        ${uses.map(({ pageY }) => bandOfPage(pageY))}::int[], ${uses.map(({ hits }) => hits)}::bigint[],
        ${uses.map(({ usedAt }) => usedAt)}::bigint[], ${uses.map(({ usedAt }) => touchedAt(usedAt))}::bigint[],
        ${uses.map(({ rank }) => rank)}::float8[]) w (x, y, band, hits, used_at, touched_at, rank)
      where s.store = ${this.#store} and s.identity = ${tileSetId(set)} and s.dropped_at is null and p.tile_set = s.id
        and p.z = ${z} and p.band = w.band and p.x = w.x and p.y = w.y and p.tiles > 0`;
    const { numAffectedRows } = await askIndex(() => query.execute(this.#database.change));
    return Number(numAffectedRows ?? 0);
  }

  /** See `Store.changesSince`. The cursor is a snapshot: changes are rows that were not visible in it. */
  async changesSince(since: string | null) {
    const [{ now: cursor } = { now: '' }] = await this.#rows(
      sql<{ now: string }>`select pg_current_snapshot()::text as now`,
    );
    if (since === null) return { changes: [], cursor };
    // A database that was restored from a backup counts its transactions again.
    if (oldestOpen(since) > oldestOpen(cursor)) return { changes: [{ kind: 'everything' } as const], cursor };
    const raised = (await this.#rows(marksSince(this.#store, since))).map(changeOfMark);
    const dropped = sql<{ layer: string }>`select distinct layer from tile_sets s
      where store = ${this.#store} and dropped_at is not null and ${isNew('s.dropped', since)}`;
    const gone = (await this.#rows(dropped)).map(changeOfLayer);
    return { changes: [...raised, ...gone, ...(await this.#renewedSince(since))], cursor };
  }

  async #renewedSince(since: string): Promise<readonly TileChange[]> {
    const isRenewed = sql`from pages p join tile_sets s on s.id = p.tile_set
      where ${isNew('p.renewed', since)} and s.store = ${this.#store} and s.dropped_at is null`;
    const pages = await this.#rows(
      sql<RenewedPage>`select s.identity, p.z, p.x, p.y ${isRenewed} limit ${MAX_PAGES + 1}`,
    );
    if (pages.length <= MAX_PAGES) return pages.map(changeOfPage);
    return (await this.#rows(sql<{ layer: string }>`select distinct s.layer ${isRenewed}`)).map(
      changeOfLayer,
    );
  }

  async #rows<Row>(query: RawBuilder<Row>): Promise<readonly Row[]> {
    return (await askIndex(() => query.execute(this.#database.query))).rows;
  }
}

type PageColumn = (typeof ORDERS)['LRU' | 'LFU'][number];

function columnsOf(order: readonly PageColumn[]): RawBuilder<unknown> {
  return sql.join(order.map((column) => sql.ref(`p.${column}`)));
}

const TYPES = {
  rank: 'float8',
  touched_at: 'bigint',
  used_at: 'bigint',
  tile_set: 'int',
  z: 'smallint',
  band: 'int',
  x: 'int',
  y: 'int',
};

function isAfter(order: readonly PageColumn[], cursor: readonly number[]): RawBuilder<unknown> {
  const values = order.map((column, at) => sql`${cursor[at]}::${sql.raw(TYPES[column])}`);
  return sql`(${columnsOf(order)}) > (${sql.join(values)})`;
}

function cursorValue(row: PageRow, column: PageColumn): number {
  const { tileSet, z, band, pageX, pageY, touchedAt, usedAt, rank } = row;
  const place = { tile_set: tileSet, z, band, x: pageX, y: pageY };
  return { ...place, touched_at: touchedAt, used_at: usedAt, rank }[column];
}

function withinPages({ z, rect }: PageFilter): RawBuilder<unknown> {
  const level = z === undefined ? sql`true` : sql`p.z = ${z}`;
  if (!rect) return level;
  const [minX, maxX, minY = 0, maxY = 0] = edgesOf(rect).map(pageOf);
  return sql`${level} and p.band between ${bandOfPage(minY)} and ${bandOfPage(maxY)} and p.x between ${minX} and ${maxX}
    and p.y between ${minY} and ${maxY}`;
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

/** Pages reported one by one; if there are more, their layers are reported. */
const MAX_PAGES = 2000;

function marksSince(store: string, since: string) {
  return sql<ChangedMark>`select m.layer, r.grid_set, r.z, r.min_x, r.min_y, r.max_x, r.max_y
    from marks m left join mark_places r on r.mark = m.id
    where m.store = ${store} and (m.key = '' or r.mark is not null) and ${isNew('m.changed', since)}`;
}

/** The comparison is for the index. */
function isNew(changed: string, since: string): RawBuilder<unknown> {
  const column = sql.ref(changed);
  return sql`${column} >= ${oldestOpen(since)}
    and not pg_visible_in_snapshot(${column}::text::xid8, ${since}::pg_snapshot)`;
}

/** The least number of a transaction that was open, or later than the snapshot. */
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
