import { pageOf, type TileSetKey, tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import type { EvictionOrder, LevelUsage, PageFilter, PageUsage, StoreUsage, UsedPage } from '../store.ts';
import type { IndexFile } from './index-file.ts';
import { edgesOf } from './mark-rows.ts';
import { joined, type Script, type Statement, statement, words } from './script.ts';
import type { Slice } from './slices.ts';

/** Rows of pages in a band. */
const PAGES_IN_BAND = 16;
const PLACE = ['tile_set', 'z', 'band', 'x', 'y'] as const;
const ORDERS = { LRU: ['touched_at', 'used_at'], LFU: ['rank', 'touched_at'] } as const;
type PageColumn = (typeof PLACE)[number] | (typeof ORDERS)['LRU' | 'LFU'][number] | 'id';

/** Differences between the databases. */
export interface PageTables {
  /** Whether a tile set `s` belongs to this store. */
  readonly isOwn: Statement;
  /** Selects the `files` and `bytes` of dropped data that still takes space. */
  readonly sweeping: Statement;
  /** Joins tile sets `s` to pages `p`, which are read in the order of pages. */
  readonly withSet: Statement;
  /** Joins to each tile set `s` the pages `p` that are selected for it. */
  readonly withPages: (selected: Statement) => Statement;
  /** Columns that break ties in the order of eviction. */
  readonly ties: readonly PageColumn[];
}

interface PageRow extends Readonly<Record<PageColumn | 'tiles' | 'bytes' | 'written_at' | 'hits', number>> {
  readonly identity: string;
}

/** The values of the order's columns at the last page read; empty before the first. */
type PageCursor = readonly number[];

export const FIRST_PAGE: PageCursor = [];

/** Pages that are read together: some milliseconds. */
const PAGE_ROWS = 1000;
/** The same in the order of eviction, where so many pages of so many tile sets are merged. */
const MERGED_ROWS = 32;
/** Milliseconds to which the last use of a page is rounded, so that the order of eviction changes less often. */
const TOUCH_STEP = 10_000;

/** The next pages as `Store.usage` lists them. */
export function* readPages(
  tables: PageTables,
  pages: PageFilter | EvictionOrder,
  after: PageCursor,
): Script<PageRow, Slice<PageUsage, PageCursor>> {
  const [order, size] =
    'first' in pages ? [[...ORDERS[pages.first], ...tables.ties], MERGED_ROWS] : [PLACE, PAGE_ROWS];
  const columns = words(order.map((column) => `p.${column}`).join());
  const isNext =
    after.length > 0 ? statement`p.tiles > 0 and (${columns}) > (${joined(after)})` : statement`p.tiles > 0`;
  const inOrder = (limit: number) => statement`order by ${columns} limit ${limit}`;
  const rows = yield 'first' in pages
    ? selectFirst(tables, pages, isNext, inOrder)
    : selectWithin(tables, pages, isNext, inOrder);
  const last = rows.length === size ? rows.at(-1) : undefined;
  return { items: withSets(rows.map(usageOf)), next: last ? order.map((column) => last[column]) : null };
}

function selectWithin(
  { isOwn, withSet }: PageTables,
  { set, z, rect }: PageFilter,
  isNext: Statement,
  inOrder: (limit: number) => Statement,
): Statement {
  const conditions = [isNext];
  if (set) {
    const inUse = statement`${isOwn} and identity = ${tileSetId(set)} and dropped_at is null`;
    conditions.push(statement`p.tile_set = (select id from tile_sets where ${inUse})`);
  }
  if (z !== undefined) conditions.push(statement`p.z = ${z}`);
  if (rect) {
    const [minX = 0, maxX = 0, minY = 0, maxY = 0] = edgesOf(rect).map(pageOf);
    conditions.push(statement`p.band between ${bandOfPage(minY)} and ${bandOfPage(maxY)}
      and p.x between ${minX} and ${maxX} and p.y between ${minY} and ${maxY}`);
  }
  return statement`select p.*, s.identity from pages p ${withSet}
    where ${isOwn} and s.dropped_at is null and ${joined(conditions, ' and ')} ${inOrder(PAGE_ROWS)}`;
}

/**
 * Selects the tile sets with the earliest pages, then merges their pages in order, so that no pages of other layers,
 * stores or dropped tile sets are read.
 */
function selectFirst(
  { isOwn, withPages }: PageTables,
  { layer }: EvictionOrder,
  isNext: Statement,
  inOrder: (limit: number) => Statement,
): Statement {
  const next = statement`from pages p where p.tile_set = s.id and ${isNext}`;
  const some = inOrder(MERGED_ROWS);
  const isSelected = layer === undefined ? isOwn : statement`${isOwn} and s.layer = ${JSON.stringify(layer)}`;
  return statement`select p.*, s.identity from (
      select s.id, s.identity from tile_sets s ${withPages(statement`${next} ${inOrder(1)}`)}
      where ${isSelected} and s.dropped_at is null ${some}
    ) s ${withPages(statement`${next} ${some}`)} ${some}`;
}

function usageOf({ x: pageX, y: pageY, ...row }: PageRow) {
  const { identity, z, tiles, bytes, hits, rank } = row;
  const times = { writtenAt: row.written_at, touchedAt: row.touched_at, usedAt: row.used_at };
  return { identity, z, pageX, pageY, tiles, bytes, hits, rank, ...times };
}

type UsageRow = Omit<LevelUsage, 'set'> & { readonly identity: string } & StoreUsage['sweeping'];

/** As `Store.usage`. */
export function* readUsage({ isOwn, sweeping }: PageTables, layer?: string): Script<UsageRow, StoreUsage> {
  const isSelected = layer === undefined ? isOwn : statement`${isOwn} and s.layer = ${JSON.stringify(layer)}`;
  const levels = yield statement`select s.identity, u.z, cast(sum(u.tiles) as bigint) as tiles,
      cast(sum(u.bytes) as bigint) as bytes, cast(sum(u.pages) as bigint) as pages, max(u.changed_at) as "changedAt"
    from tile_sets s join usage u on u.tile_set = s.id
    where ${isSelected} and s.dropped_at is null group by s.id, u.z having sum(u.tiles) > 0`;
  const [{ files, bytes } = { files: 0, bytes: 0 }] = yield sweeping;
  return { levels: withSets(levels), sweeping: { files, bytes } };
}

/** Replaces the identity of each row by its tile set's key. */
function withSets<Row extends { readonly identity: string }>(
  rows: readonly Row[],
): (Omit<Row, 'identity'> & { readonly set: TileSetKey })[] {
  const sets = new Map<string, TileSetKey>();
  return rows.map(({ identity, ...row }) => {
    return { set: getOrCreate(sets, identity, () => tileSetOf(identity)), ...row };
  });
}

export function bandOfPage(pageY: number): number {
  return Math.floor(pageY / PAGES_IN_BAND);
}

export const SQLITE_PAGES: PageTables = {
  isOwn: words('true'),
  sweeping: words(`select count(*) as files, ifnull(sum(size), 0) as bytes from segments
    where tile_set in (select id from tile_sets where dropped_at is not null)`),
  withSet: words('cross join tile_sets s on s.id = p.tile_set'),
  withPages: (selected) => statement`cross join pages p on p.id in (select p.id ${selected})`,
  ties: ['id'],
};

export function touchedAt(at: number): number {
  return Math.floor(at / TOUCH_STEP) * TOUCH_STEP;
}

/** Adds to the uses of pages, within the caller's transaction; `addRanks` of `domain/page-rank.ts` in SQL. */
export function prepareUses(db: IndexFile) {
  const add = db.prepare<number[]>(
    `UPDATE pages SET hits = hits + ?, used_at = max(used_at, ?), touched_at = max(touched_at, ?),
       rank = max(rank, ?) + log2(1 + pow(2, -abs(rank - ?))) WHERE tile_set = ? AND z = ? AND band = ? AND x = ? AND y = ?`,
  );
  /** Returns how many of the pages have tiles. */
  return (set: number, z: number, pages: readonly UsedPage[]): number =>
    pages.reduce((known, { pageX, pageY, hits, usedAt, rank }) => {
      const place = [set, z, bandOfPage(pageY), pageX, pageY];
      return known + add.run(hits, usedAt, touchedAt(usedAt), rank, rank, ...place).changes;
    }, 0);
}
