import { PAGE_SIZE, type TileSetKey, tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import type { EvictionOrder, PageFilter, PageUsage, UsedPage } from '../store.ts';
import type { IndexFile } from './index-file.ts';
import { PAGES_IN_BAND } from './schema.ts';

/** The columns of the order at a page; null: before the first. */
export type PageCursor = readonly number[] | null;

export interface PageSlice {
  readonly pages: readonly PageUsage[];
  /** Where to go on; null: that were all. */
  readonly next: PageCursor;
}

interface PageRow extends Omit<PageUsage, 'set'> {
  readonly identity: string;
  readonly tileSet: number;
  readonly band: number;
  readonly id: number;
}

/** Rows that are read together: some milliseconds. */
const PAGE_ROWS = 1000;
/** The same in the order of eviction, where so many rows of so many tile sets are merged. */
const MERGED_ROWS = 32;
/** Milliseconds to which the last use of a page is rounded: fewer changes of the order of eviction. */
const TOUCH_STEP = 10_000;

const COLUMNS = `p.tile_set AS tileSet, p.band, p.id, s.identity, p.z, p.x AS pageX, p.y AS pageY, p.tiles, p.bytes,
  p.written_at AS writtenAt, p.touched_at AS touchedAt, p.hits, p.used_at AS usedAt, p.rank`;

export function readPages(db: IndexFile, pages: PageFilter | EvictionOrder, after: PageCursor): PageSlice {
  return 'first' in pages ? readFirst(db, pages, after) : readWithin(db, pages, after);
}

/** `CROSS JOIN` makes SQLite go through the pages in the order of their index. */
function readWithin(db: IndexFile, filter: PageFilter, after: PageCursor): PageSlice {
  const { set } = filter;
  const { conditions, parameters } = placeConditions(filter);
  const inSet = set
    ? 'p.tile_set = (SELECT id FROM tile_sets WHERE identity = ? AND dropped_at IS NULL)'
    : 'true';
  const order = 'p.tile_set, p.z, p.band, p.x, p.y';
  const rows = db
    .prepare<unknown[], PageRow>(
      `SELECT ${COLUMNS} FROM pages p CROSS JOIN tile_sets s ON s.id = p.tile_set
       WHERE s.dropped_at IS NULL AND ${inSet} AND ${conditions} AND (${order}) > (?, ?, ?, ?, ?)
       ORDER BY ${order} LIMIT ${PAGE_ROWS}`,
    )
    .all(...(set ? [tileSetId(set)] : []), ...parameters, ...(after ?? [0, 0, 0, 0, -1]));
  const last = rows.length === PAGE_ROWS && rows.at(-1);
  return {
    pages: pagesOf(rows),
    next: last ? [last.tileSet, last.z, last.band, last.pageX, last.pageY] : null,
  };
}

const ORDERS = { LRU: ['touched_at', 'used_at', 'id'], LFU: ['rank', 'touched_at', 'id'] };

/**
 * The pages of each tile set are in order; those with the earliest pages are merged. So pages of other layers, and of tile sets
 * that were dropped, are not passed over one by one.
 */
function readFirst(db: IndexFile, { first, layer }: EvictionOrder, after: PageCursor): PageSlice {
  const columns = ORDERS[first];
  const order = columns.map((column) => `p.${column}`).join(', ');
  const next = (limit: number) => `SELECT p.id FROM pages p WHERE p.tile_set = s.id
    AND (${order}) > (${columns.map(() => '?').join(', ')}) ORDER BY ${order} LIMIT ${limit}`;
  const cursor = after ?? columns.map(() => -1);
  const rows = db
    .prepare<unknown[], PageRow>(
      `SELECT ${COLUMNS} FROM (
         SELECT s.id, s.identity FROM tile_sets s CROSS JOIN pages p ON p.id = (${next(1)})
         WHERE s.dropped_at IS NULL AND ${layer === undefined ? 'true' : 's.layer = ?'} ORDER BY ${order} LIMIT ${MERGED_ROWS}
       ) s CROSS JOIN pages p ON p.id IN (${next(MERGED_ROWS)}) ORDER BY ${order} LIMIT ${MERGED_ROWS}`,
    )
    .all(...cursor, ...(layer === undefined ? [] : [JSON.stringify(layer)]), ...cursor);
  const last = rows.length === MERGED_ROWS && rows.at(-1);
  const end =
    last && (first === 'LRU' ? [last.touchedAt, last.usedAt, last.id] : [last.rank, last.touchedAt, last.id]);
  return { pages: pagesOf(rows), next: end || null };
}

/** Rows of tile sets, with their keys. */
export function withSets<Row extends { readonly identity: string }>(
  rows: readonly Row[],
): (Omit<Row, 'identity'> & { readonly set: TileSetKey })[] {
  const sets = new Map<string, TileSetKey>();
  return rows.map(({ identity, ...row }) => {
    return { set: getOrCreate(sets, identity, () => tileSetOf(identity)), ...row };
  });
}

function pagesOf(rows: readonly PageRow[]): readonly PageUsage[] {
  return withSets(rows).map(({ tileSet: _, band: __, id: ___, ...page }) => page);
}

function placeConditions({ z, rect }: PageFilter): { conditions: string; parameters: readonly number[] } {
  const level =
    z === undefined ? { conditions: 'true', parameters: [] } : { conditions: 'p.z = ?', parameters: [z] };
  if (!rect) return level;
  const page = (tile: number) => Math.floor(tile / PAGE_SIZE);
  const [minX, maxX, minY, maxY] = [page(rect.minX), page(rect.maxX), page(rect.minY), page(rect.maxY)];
  const bands = [bandOfPage(minY), bandOfPage(maxY)];
  return {
    conditions: `${level.conditions} AND p.band BETWEEN ? AND ? AND p.x BETWEEN ? AND ? AND p.y BETWEEN ? AND ?`,
    parameters: [...level.parameters, ...bands, minX, maxX, minY, maxY],
  };
}

export function bandOfPage(pageY: number): number {
  return Math.floor(pageY / PAGES_IN_BAND);
}

export function touchedAt(at: number): number {
  return Math.floor(at / TOUCH_STEP) * TOUCH_STEP;
}

/** Adds to the uses of pages; `addRanks` of `domain/page-rank.ts` in SQL. Within a transaction of the caller. */
export function prepareUses(db: IndexFile) {
  const add = db.prepare<number[]>(
    `UPDATE pages SET hits = hits + ?, used_at = max(used_at, ?), touched_at = max(touched_at, ?),
       rank = max(rank, ?) + log2(1 + pow(2, -abs(rank - ?))) WHERE tile_set = ? AND z = ? AND band = ? AND x = ? AND y = ?`,
  );
  /** Returns how many of them have tiles. */
  return (set: number, z: number, pages: readonly UsedPage[]): number =>
    pages.reduce((known, { pageX, pageY, hits, usedAt, rank }) => {
      const place = [set, z, bandOfPage(pageY), pageX, pageY];
      return known + add.run(hits, usedAt, touchedAt(usedAt), rank, rank, ...place).changes;
    }, 0);
}
