import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { PAGE_SIZE, type TileSetKey, tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import { blockAt, type TileRect } from '../../domain/tile-rect.ts';
import type { TileNews } from '../tile-store.ts';
import { askIndex, LARGEST_INDEX } from './pack-index.ts';

/** Tiles along the side of a block of eight by eight pages. */
export const BLOCK_TILES = 8 * PAGE_SIZE;

export interface PageRow {
  readonly set: number;
  /** As `tileSetId` writes it. */
  readonly identity: string;
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly tiles: number;
  readonly bytes: number;
  readonly writtenAt: number;
}

/** Eight by eight pages. */
export interface BlockName {
  readonly set: number;
  readonly z: number;
  /** Counts blocks. */
  readonly x: number;
  readonly y: number;
}

export interface BlockRow extends BlockName {
  readonly tiles: number;
  readonly bytes: number;
}

export interface BlockContents {
  readonly identity: string;
  readonly columns: number;
  readonly rows: number;
  readonly pages: readonly Pick<PageRow, 'x' | 'y' | 'tiles' | 'bytes'>[];
  /** `detail` in base 64. */
  readonly packs: readonly { readonly x: number; readonly y: number; readonly detail: string }[];
}

const PAGE = sql.raw(
  'p.tile_set as set, s.identity, p.z, p.x, p.y, p.tiles, p.bytes, p.written_at as "writtenAt"',
);
/** Rows read at once. */
const SLICE = 5000;

/** The statistics of pages in PostgreSQL. */
export class PageIndex {
  readonly #database: Database;
  readonly #store: string;

  constructor(database: Database, store: string) {
    this.#database = database;
    this.#store = store;
  }

  /** Blocks that have tiles in pages which touch `rect`, with what those pages add up to. */
  async *blocks(set: TileSetKey, z: number, rect: TileRect): AsyncGenerator<BlockRow> {
    const page = (tile: number) => Math.floor(Math.min(tile, LARGEST_INDEX) / PAGE_SIZE);
    const [minX, maxX, minY, maxY] = [rect.minX, rect.maxX, rect.minY, rect.maxY].map(page);
    for (let [band, block] = [-1, -1]; ; ) {
      const query = sql<BlockRow>`select p.tile_set as set, p.z, p.x >> 3 as x, p.band as y,
          sum(p.tiles)::bigint as tiles, sum(p.bytes)::bigint as bytes
        from tile_sets s join pack_pages p on p.tile_set = s.id
        where s.store = ${this.#store} and s.identity = ${tileSetId(set)} and s.dropped_at is null
          and p.z = ${z} and p.tiles > 0
          and p.band between ${minY}::int >> 3 and ${maxY}::int >> 3
          and p.x between ${minX} and ${maxX} and p.y between ${minY} and ${maxY}
          and (p.band, p.x) > (${band}::int, ${block * 8 + 7}::int)
        group by 1, 2, 3, 4 order by 4, 3 limit 1000`;
      const { rows } = await askIndex(() => query.execute(this.#database.query));
      yield* rows;
      const last = rows.at(-1);
      if (!last || rows.length < 1000) return;
      [band, block] = [last.y, last.x];
    }
  }

  /** Pages of one tile set that have tiles, or of all that are in use, those of a block together. */
  async *pages(set: TileSetKey | null): AsyncGenerator<PageRow> {
    const only = set ? sql`and s.identity = ${tileSetId(set)}` : sql``;
    let last: Pick<PageRow, 'set' | 'z' | 'x' | 'y'> = { set: -1, z: -1, x: -1, y: -1 };
    for (;;) {
      const query = sql<PageRow>`select ${PAGE} from tile_sets s join pack_pages p on p.tile_set = s.id
        where s.store = ${this.#store} and s.dropped_at is null and p.tiles > 0 ${only}
          and (p.tile_set, p.z, p.band, p.x, p.y) >
            (${last.set}::int, ${last.z}::smallint, ${last.y >> 3}::int, ${last.x}::int, ${last.y}::int)
        order by p.tile_set, p.z, p.band, p.x, p.y limit ${SLICE}`;
      const { rows } = await askIndex(() => query.execute(this.#database.query));
      if (rows.length < SLICE) return yield* rows;
      // A block is read in one go, so that its figures are those of one moment.
      const unfinished = rows.at(-1);
      const whole = rows.filter((row) => !unfinished || !sameBlock(row, unfinished));
      yield* whole;
      last = whole.at(-1) ?? last;
    }
  }

  /** Where everything that is not visible yet will be found: see the migration. */
  async cursor(): Promise<number> {
    const query = sql<{ now: number }>`select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as now`;
    return (await askIndex(() => query.execute(this.#database.query))).rows[0]?.now ?? 0;
  }

  /** Which transactions are visible now, as PostgreSQL writes it. */
  async snapshot(): Promise<string> {
    const query = sql<{ now: string }>`select pg_current_snapshot()::text as now`;
    return (await askIndex(() => query.execute(this.#database.query))).rows[0]?.now ?? '';
  }

  /** All pages of the blocks that may have changed since, also those without tiles. */
  async changedSince(since: number): Promise<readonly PageRow[]> {
    const query = sql<PageRow>`with blocks as (
        select distinct tile_set, z, band, x >> 3 as block from pack_pages where changed >= ${since})
      select ${PAGE} from blocks b
      join tile_sets s on s.id = b.tile_set and s.store = ${this.#store} and s.dropped_at is null
      join pack_pages p on p.tile_set = b.tile_set and p.z = b.z and p.band = b.band
        and p.x between b.block * 8 and b.block * 8 + 7
      order by p.tile_set, p.z, p.band, p.x, p.y`;
    return (await askIndex(() => query.execute(this.#database.query))).rows;
  }

  /** Numbers of tile sets that were dropped since. */
  async droppedSince(since: number): Promise<readonly number[]> {
    const query = sql<{ id: number }>`select id from tile_sets
      where store = ${this.#store} and dropped_at is not null and dropped >= ${since}`;
    return (await askIndex(() => query.execute(this.#database.query))).rows.map(({ id }) => id);
  }

  /** A block's statistics and the packs that touch it, as of one moment; null: its tile set is not in use. */
  async contents({ set, z, x, y }: BlockName): Promise<BlockContents | null> {
    const query = sql<BlockContents>`select s.identity, s.columns, s.rows,
        (select coalesce(json_agg(json_build_object('x', p.x, 'y', p.y, 'tiles', p.tiles, 'bytes', p.bytes)), '[]')
          from pack_pages p where p.tile_set = s.id and p.z = ${z} and p.band = ${y} and p.x >> 3 = ${x}) as pages,
        (select coalesce(json_agg(json_build_object('x', p.x, 'y', p.y, 'detail', encode(p.detail, 'base64'))), '[]')
          from generate_series((${y}::int * ${BLOCK_TILES} / s.rows) >> 5, ((${y}::int + 1) * ${BLOCK_TILES} - 1) / s.rows >> 5) b (band)
          join packs p on p.tile_set = s.id and p.z = ${z} and p.band = b.band
            and p.x between ${x}::int * ${BLOCK_TILES} / s.columns and ((${x}::int + 1) * ${BLOCK_TILES} - 1) / s.columns
            and p.y between ${y}::int * ${BLOCK_TILES} / s.rows and ((${y}::int + 1) * ${BLOCK_TILES} - 1) / s.rows) as packs
      from tile_sets s where s.id = ${set} and s.store = ${this.#store} and s.dropped_at is null`;
    return (await askIndex(() => query.execute(this.#database.query))).rows[0] ?? null;
  }

  /** Tile sets that have tiles. */
  async sets(layer: string | null): Promise<readonly TileSetKey[]> {
    const only = layer === null ? sql`` : sql`and s.layer = ${JSON.stringify(layer)}`;
    const query = sql<{ identity: string }>`select s.identity from tile_sets s
      where s.store = ${this.#store} and s.dropped_at is null ${only}
        and exists (select from pack_pages p where p.tile_set = s.id and p.tiles > 0)`;
    const { rows } = await askIndex(() => query.execute(this.#database.query));
    return rows.map(({ identity }) => tileSetOf(identity));
  }
}

function sameBlock(a: PageRow, b: PageRow): boolean {
  return a.set === b.set && a.z === b.z && a.y >> 3 === b.y >> 3 && a.x >> 3 === b.x >> 3;
}

interface MarkRow {
  readonly layer: string;
  readonly grid_set: string | null;
  readonly z: number;
  readonly min_x: number;
  readonly min_y: number;
  readonly max_x: number;
  readonly max_y: number;
}

interface RenewedPage {
  readonly identity: string;
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** Pages told one by one; when there are more, their layers are told. */
const MOST_PAGES = 2000;

/** See `TileStore.news`. The cursor is a snapshot: news is what was not visible in it, whatever is open elsewhere. */
export async function readPackNews(
  database: Database,
  store: string,
  pages: PageIndex,
  since: string | null,
): Promise<{ readonly news: readonly TileNews[]; readonly cursor: string }> {
  const cursor = await pages.snapshot();
  if (since === null) return { news: [], cursor };
  // A database that was restored from a backup counts its transactions anew.
  if (oldestOpen(since) > oldestOpen(cursor)) return { news: [{ kind: 'everything' }], cursor };
  const query = database.query;
  /** The comparison is for the index. */
  const isNew = (changed: string) => {
    const column = sql.ref(changed);
    return sql`${column} >= ${oldestOpen(since)}
      and not pg_visible_in_snapshot(${column}::text::xid8, ${since}::pg_snapshot)`;
  };
  const marks = sql<MarkRow>`select layer, grid_set, z, min_x, min_y, max_x, max_y from tile_marks
    where store = ${store} and ${isNew('changed')}`;
  const dropped = sql<{ layer: string }>`select distinct layer from tile_sets
    where store = ${store} and dropped_at is not null and ${isNew('dropped')}`;
  const isRenewed = sql`from pack_pages p join tile_sets s on s.id = p.tile_set
    where ${isNew('p.renewed')} and s.store = ${store} and s.dropped_at is null`;
  const renewed = sql<RenewedPage>`select s.identity, p.z, p.x, p.y ${isRenewed} limit ${MOST_PAGES + 1}`;
  const layers = sql<{ layer: string }>`select distinct s.layer ${isRenewed}`;
  return askIndex(async () => {
    const raised = (await marks.execute(query)).rows.map(newsOfMark);
    const gone = (await dropped.execute(query)).rows.map(newsOfLayer);
    const found = (await renewed.execute(query)).rows;
    const tiles =
      found.length > MOST_PAGES ? (await layers.execute(query)).rows.map(newsOfLayer) : found.map(newsOfPage);
    return { news: [...raised, ...gone, ...tiles], cursor };
  });
}

/** The least number of a transaction that was open, or later than the snapshot. */
function oldestOpen(snapshot: string): number {
  return Number(snapshot.split(':')[0]);
}

function newsOfLayer({ layer }: { readonly layer: string }): TileNews {
  return { kind: 'layer', layer: JSON.parse(layer) };
}

function newsOfMark({ layer, grid_set: gridSet, z, ...at }: MarkRow): TileNews {
  if (gridSet === null) return newsOfLayer({ layer });
  const rect = { minX: at.min_x, minY: at.min_y, maxX: at.max_x, maxY: at.max_y };
  return { kind: 'place', layer: JSON.parse(layer), place: { gridSet: JSON.parse(gridSet), z, rect } };
}

function newsOfPage({ identity, z, x, y }: RenewedPage): TileNews {
  return { kind: 'tiles', set: tileSetOf(identity), z, rect: blockAt(x, y, PAGE_SIZE) };
}
