import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { BLOCK_SIZE, PAGE_SIZE, type TileSetKey, tileSetId, tileSetOf } from '../../domain/tile-key.ts';
import { blockAt, type TileRect } from '../../domain/tile-rect.ts';
import type { StoreChange, TileChange } from '../tile-store.ts';
import { askIndex, LARGEST_INDEX } from './pack-index.ts';

/** Eight by eight pages, by the place of the block in its zoom. */
export interface BlockName {
  readonly set: number;
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** Of a page, or of the pages of a block. */
export interface PageRow extends BlockName, StoreChange {
  /** As `tileSetId` writes it. */
  readonly identity: string;
  readonly writtenAt: number;
}

export interface BlockRow extends PageRow {
  /** Which of its pages have tiles; hexadecimal. */
  readonly mask: string;
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
/** The sums over the pages of a block. */
const BLOCK =
  sql.raw(`p.tile_set as set, s.identity, p.z, p.x >> 3 as x, p.band as y, sum(p.tiles)::bigint as tiles,
  sum(p.bytes)::bigint as bytes, max(p.written_at) as "writtenAt",
  to_hex(bit_or(case when p.tiles > 0 then 1::bigint << ((p.y & 7) * 8 + (p.x & 7)) else 0 end)) as mask`);
const OF_BLOCK = sql.raw('p.tile_set, s.identity, p.z, p.band, p.x >> 3');
/** Rows read at a time. */
const SLICE = 5000;
const BLOCKS = 1000;

/** The statistics of pages in PostgreSQL. */
export class PageIndex {
  readonly #database: Database;
  readonly #store: string;

  constructor(database: Database, store: string) {
    this.#database = database;
    this.#store = store;
  }

  /** Blocks that have tiles in pages which touch `rect`, with what those pages add up to. */
  async *blocksWithin(set: TileSetKey, z: number, rect: TileRect): AsyncGenerator<BlockRow> {
    const page = (tile: number) => Math.floor(Math.min(tile, LARGEST_INDEX) / PAGE_SIZE);
    const [minX, maxX, minY, maxY] = [rect.minX, rect.maxX, rect.minY, rect.maxY].map(page);
    const after = ({ x, y }: BlockName) =>
      sql<BlockRow>`select ${BLOCK} from tile_sets s join pack_pages p on p.tile_set = s.id
        where s.store = ${this.#store} and s.identity = ${tileSetId(set)} and s.dropped_at is null
          and p.z = ${z} and p.tiles > 0
          and p.band between ${minY}::int >> 3 and ${maxY}::int >> 3
          and p.x between ${minX} and ${maxX} and p.y between ${minY} and ${maxY}
          and (p.band, p.x) > (${y}::int, ${x * 8 + 7}::int)
        group by ${OF_BLOCK} order by p.band, p.x >> 3 limit ${BLOCKS}`;
    for await (const rows of this.#slices(BLOCKS, after)) yield* rows;
  }

  /** All blocks in use that have tiles, some at a time. */
  blocks(): AsyncGenerator<readonly BlockRow[]> {
    const after = ({ set, z, x, y }: BlockName) =>
      sql<BlockRow>`select ${BLOCK} from tile_sets s join pack_pages p on p.tile_set = s.id
        where s.store = ${this.#store} and s.dropped_at is null and p.tiles > 0
          and (p.tile_set, p.z, p.band, p.x) > (${set}::int, ${z}::smallint, ${y}::int, ${x * 8 + 7}::int)
        group by ${OF_BLOCK} order by p.tile_set, p.z, p.band, p.x >> 3 limit ${BLOCKS}`;
    return this.#slices(BLOCKS, after);
  }

  /** Blocks that may have changed since, also those without tiles. */
  async blocksChangedSince(since: number): Promise<readonly BlockRow[]> {
    const query = sql<BlockRow>`with blocks as (
        select distinct tile_set, z, band, x >> 3 as block from pack_pages where changed >= ${since})
      select ${BLOCK} from blocks b
      join tile_sets s on s.id = b.tile_set and s.store = ${this.#store} and s.dropped_at is null
      join pack_pages p on p.tile_set = b.tile_set and p.z = b.z and p.band = b.band
        and p.x between b.block * 8 and b.block * 8 + 7
      group by ${OF_BLOCK}`;
    return this.#rows(query);
  }

  /** Those of some blocks that have tiles. */
  async pagesIn(blocks: readonly BlockName[]): Promise<readonly PageRow[]> {
    const query = sql<PageRow>`select ${PAGE}
      from unnest(${blocks.map(({ set }) => set)}::int[], ${blocks.map(({ z }) => z)}::smallint[],
        ${blocks.map(({ x }) => x)}::int[], ${blocks.map(({ y }) => y)}::int[]) w (set, z, x, y)
      join tile_sets s on s.id = w.set and s.store = ${this.#store} and s.dropped_at is null
      join pack_pages p on p.tile_set = w.set and p.z = w.z and p.band = w.y
        and p.x between w.x * 8 and w.x * 8 + 7 and p.tiles > 0`;
    return this.#rows(query);
  }

  /** Those of a tile set that have tiles. */
  async *pages(set: TileSetKey): AsyncGenerator<PageRow> {
    const after = ({ set: id, z, x, y }: BlockName) =>
      sql<PageRow>`select ${PAGE} from tile_sets s join pack_pages p on p.tile_set = s.id
        where s.store = ${this.#store} and s.identity = ${tileSetId(set)} and s.dropped_at is null and p.tiles > 0
          and (p.tile_set, p.z, p.band, p.x, p.y) >
            (${id}::int, ${z}::smallint, ${y >> 3}::int, ${x}::int, ${y}::int)
        order by p.tile_set, p.z, p.band, p.x, p.y limit ${SLICE}`;
    for await (const rows of this.#slices(SLICE, after)) yield* rows;
  }

  /** Where everything that is not visible yet will be found: see the migration. */
  async cursor(): Promise<number> {
    const query = sql<{ now: number }>`select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as now`;
    return (await this.#rows(query))[0]?.now ?? 0;
  }

  /** Which transactions are visible now, as PostgreSQL writes it. */
  async snapshot(): Promise<string> {
    const query = sql<{ now: string }>`select pg_current_snapshot()::text as now`;
    return (await this.#rows(query))[0]?.now ?? '';
  }

  /** Numbers of tile sets that were dropped since. */
  async droppedSince(since: number): Promise<readonly number[]> {
    const query = sql<{ id: number }>`select id from tile_sets
      where store = ${this.#store} and dropped_at is not null and dropped >= ${since}`;
    return (await this.#rows(query)).map(({ id }) => id);
  }

  /** A block's statistics and the packs that touch it, as of one moment; null: its tile set is not in use. */
  async contents({ set, z, x, y }: BlockName): Promise<BlockContents | null> {
    const query = sql<BlockContents>`select s.identity, s.columns, s.rows,
        (select coalesce(json_agg(json_build_object('x', p.x, 'y', p.y, 'tiles', p.tiles, 'bytes', p.bytes)), '[]')
          from pack_pages p where p.tile_set = s.id and p.z = ${z} and p.band = ${y} and p.x >> 3 = ${x}) as pages,
        (select coalesce(json_agg(json_build_object('x', p.x, 'y', p.y, 'detail', encode(p.detail, 'base64'))), '[]')
          from generate_series((${y}::int * ${BLOCK_SIZE} / s.rows) >> 5, ((${y}::int + 1) * ${BLOCK_SIZE} - 1) / s.rows >> 5) b (band)
          join packs p on p.tile_set = s.id and p.z = ${z} and p.band = b.band
            and p.x between ${x}::int * ${BLOCK_SIZE} / s.columns and ((${x}::int + 1) * ${BLOCK_SIZE} - 1) / s.columns
            and p.y between ${y}::int * ${BLOCK_SIZE} / s.rows and ((${y}::int + 1) * ${BLOCK_SIZE} - 1) / s.rows) as packs
      from tile_sets s where s.id = ${set} and s.store = ${this.#store} and s.dropped_at is null`;
    return (await this.#rows(query))[0] ?? null;
  }

  /** Tile sets that have tiles. */
  async sets(layer: string | null): Promise<readonly TileSetKey[]> {
    const only = layer === null ? sql`` : sql`and s.layer = ${JSON.stringify(layer)}`;
    const query = sql<{ identity: string }>`select s.identity from tile_sets s
      where s.store = ${this.#store} and s.dropped_at is null ${only}
        and exists (select from pack_pages p where p.tile_set = s.id and p.tiles > 0)`;
    return (await this.#rows(query)).map(({ identity }) => tileSetOf(identity));
  }

  async #rows<Row>(query: RawBuilder<Row>): Promise<readonly Row[]> {
    return (await askIndex(() => query.execute(this.#database.query))).rows;
  }

  /** What `after` selects behind the last row of the slice before, until a slice is not full. */
  async *#slices<Row extends BlockName>(
    size: number,
    after: (last: BlockName) => RawBuilder<Row>,
  ): AsyncGenerator<readonly Row[]> {
    let last: BlockName | undefined = { set: -1, z: -1, x: -1, y: -1 };
    while (last) {
      const rows: readonly Row[] = await this.#rows(after(last));
      yield rows;
      last = rows.length < size ? undefined : rows.at(-1);
    }
  }
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

type RenewedPage = Pick<PageRow, 'identity' | 'z' | 'x' | 'y'>;

/** Pages reported one by one; if there are more, their layers are reported. */
const MAX_PAGES = 2000;

/** See `TileStore.changesSince`. The cursor is a snapshot: changes are rows that were not visible in it. */
export async function readPackChanges(
  database: Database,
  store: string,
  pages: PageIndex,
  since: string | null,
): Promise<{ readonly changes: readonly TileChange[]; readonly cursor: string }> {
  const cursor = await pages.snapshot();
  if (since === null) return { changes: [], cursor };
  // A database that was restored from a backup counts its transactions again.
  if (oldestOpen(since) > oldestOpen(cursor)) return { changes: [{ kind: 'everything' }], cursor };
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
  const renewed = sql<RenewedPage>`select s.identity, p.z, p.x, p.y ${isRenewed} limit ${MAX_PAGES + 1}`;
  const layers = sql<{ layer: string }>`select distinct s.layer ${isRenewed}`;
  return askIndex(async () => {
    const raised = (await marks.execute(query)).rows.map(changeOfMark);
    const gone = (await dropped.execute(query)).rows.map(changeOfLayer);
    const found = (await renewed.execute(query)).rows;
    const tiles =
      found.length > MAX_PAGES
        ? (await layers.execute(query)).rows.map(changeOfLayer)
        : found.map(changeOfPage);
    return { changes: [...raised, ...gone, ...tiles], cursor };
  });
}

/** The least number of a transaction that was open, or later than the snapshot. */
function oldestOpen(snapshot: string): number {
  return Number(snapshot.split(':')[0]);
}

function changeOfLayer({ layer }: { readonly layer: string }): TileChange {
  return { kind: 'layer', layer: JSON.parse(layer) };
}

function changeOfMark({ layer, grid_set: gridSet, z, ...at }: MarkRow): TileChange {
  if (gridSet === null) return changeOfLayer({ layer });
  const rect = { minX: at.min_x, minY: at.min_y, maxX: at.max_x, maxY: at.max_y };
  return { kind: 'place', layer: JSON.parse(layer), place: { gridSet: JSON.parse(gridSet), z, rect } };
}

function changeOfPage({ identity, z, x, y }: RenewedPage): TileChange {
  return { kind: 'tiles', set: tileSetOf(identity), z, rect: blockAt(x, y, PAGE_SIZE) };
}
