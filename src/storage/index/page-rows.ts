import { PAGE_SIZE, tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import type { PageFilter, PageUsage } from '../store.ts';
import type { IndexFile } from './index-file.ts';
import { PAGES_IN_BAND } from './schema.ts';

/** A page, in the order of the index by place. */
export type PageCursor = readonly [set: number, z: number, band: number, x: number, y: number];

export const FIRST_PAGE: PageCursor = [0, 0, 0, 0, -1];

export interface PageSlice {
  readonly pages: readonly PageUsage[];
  /** Where to go on; null: that were all, or the ones that go first. */
  readonly next: PageCursor | null;
}

interface PageRow extends Omit<PageUsage, 'set'> {
  readonly identity: string;
  readonly tileSet: number;
  readonly band: number;
}

/** Rows that are read together: some milliseconds. */
const PAGE_ROWS = 1000;
/** The columns of an index each. */
const ORDERS = { LRU: 'p.touched_at', LFU: 'p.rank, p.touched_at' };
const PLACE = 'p.tile_set, p.z, p.band, p.x, p.y';

/** `CROSS JOIN` makes SQLite go through the pages in the order of their index. */
export function readPages(db: IndexFile, filter: PageFilter, after: PageCursor): PageSlice {
  const { set, layer, first } = filter;
  const { conditions, parameters } = placeConditions(filter);
  const inSet = set
    ? 'p.tile_set = (SELECT id FROM tile_sets WHERE identity = ? AND dropped_at IS NULL)'
    : 'true';
  const rows = db
    .prepare<unknown[], PageRow>(
      `SELECT p.tile_set AS tileSet, p.band, s.identity, p.z, p.x AS pageX, p.y AS pageY, p.tiles, p.bytes,
         p.written_at AS writtenAt, p.touched_at AS touchedAt, p.rank
       FROM pages p CROSS JOIN tile_sets s ON s.id = p.tile_set
       WHERE s.dropped_at IS NULL AND ${inSet} AND ${layer === undefined ? 'true' : 's.layer = ?'} AND ${conditions}
         AND ${first ? 'true' : `(${PLACE}) > (?, ?, ?, ?, ?)`}
       ORDER BY ${first ? ORDERS[first] : PLACE} LIMIT ${PAGE_ROWS}`,
    )
    .all(
      ...(set ? [tileSetId(set)] : []),
      ...(layer === undefined ? [] : [JSON.stringify(layer)]),
      ...parameters,
      ...(first ? [] : after),
    );
  const last = rows.at(-1);
  const isMore = last && !first && rows.length === PAGE_ROWS;
  return {
    pages: rows.map(({ identity, tileSet: _, band: __, ...row }) => ({ set: tileSetOf(identity), ...row })),
    next: isMore ? [last.tileSet, last.z, last.band, last.pageX, last.pageY] : null,
  };
}

function placeConditions({ z, rect }: PageFilter): { conditions: string; parameters: readonly number[] } {
  const level =
    z === undefined ? { conditions: 'true', parameters: [] } : { conditions: 'p.z = ?', parameters: [z] };
  if (!rect) return level;
  const page = (tile: number) => Math.floor(tile / PAGE_SIZE);
  const [minX, maxX, minY, maxY] = [page(rect.minX), page(rect.maxX), page(rect.minY), page(rect.maxY)];
  const bands = [Math.floor(minY / PAGES_IN_BAND), Math.floor(maxY / PAGES_IN_BAND)];
  return {
    conditions: `${level.conditions} AND p.band BETWEEN ? AND ? AND p.x BETWEEN ? AND ? AND p.y BETWEEN ? AND ?`,
    parameters: [...level.parameters, ...bands, minX, maxX, minY, maxY],
  };
}
