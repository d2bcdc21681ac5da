import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import { type TileSetKey, tileSetId } from '../../../domain/tile-key.ts';
import { blockAt, type TileRect } from '../../../domain/tile-rect.ts';
import { hasCode } from '../../../lib/error-code.ts';
import { TILE_CHANGES } from '../../store.ts';
import { PACK_SIZE, packOf } from '../directory.ts';
import { bandOf, markRow, type PackCursor, type WrittenMark } from '../index-reader.ts';
import { edgesOf, type MarkHere, marksHere } from '../mark-rows.ts';
import { touchedAt } from '../pages.ts';
import { askIndex, layerLock } from './ask-index.ts';
import { areaOf, levelStart } from './mark-index.ts';

/** A pack as a caller has read it. `x` and `y` count packs. */
export interface SeenPack {
  readonly x: number;
  readonly y: number;
  /** Null: no row. */
  readonly detail: Buffer | null;
}

export interface PackSlice {
  /** The number of the tile set; null if it is not in the index. */
  readonly set: number | null;
  /** The packs, with the open marks over each at the same moment. */
  readonly rows: readonly (SeenPack & { readonly marks: readonly MarkHere[] })[];
  /** Where to continue; null after the last. */
  readonly next: PackCursor | null;
}

interface FoundRow {
  readonly id: number;
  readonly next: number | null;
  readonly x: number | null;
  readonly y: number;
  readonly detail: Buffer;
  readonly marks: readonly WrittenMark[] | null;
}

export interface ChangedPack {
  readonly x: number;
  readonly y: number;
  /** The row as the caller has read it; null: no row. */
  readonly seen: Buffer | null;
  /** The new row; null: the row is removed. */
  readonly next: Buffer | null;
  /** Count of tiles in `next`, and the sum of their lengths. */
  readonly tiles: number;
  readonly bytes: number;
  /** Whether tiles were replaced, removed or marked, not only added. */
  readonly renewed: boolean;
}

/** An object that no row names any longer. `bytes` is the sum of its tiles' lengths. */
export interface Orphan {
  readonly x: number;
  readonly y: number;
  readonly object: number;
  readonly bytes: number;
}

export interface Conditions {
  /** If tiles were put, when, in milliseconds since 1970; null for other changes. */
  readonly writtenAt: number | null;
  /** Milliseconds since 1970; 0 if readers see no difference. */
  readonly changedAt: number;
  readonly lease: number | null;
  /** The change is refused if a mark in `rect` has a later number. */
  readonly fence: { readonly ticket: number; readonly rect: TileRect } | null;
}

export interface PackChange extends Conditions {
  readonly set: TileSetKey;
  readonly id: number;
  readonly z: number;
  readonly packs: readonly ChangedPack[];
  /** Objects that no row names afterwards. */
  readonly orphans: readonly Orphan[];
}

export type ChangeOutcome =
  | { readonly type: 'done' | 'set-gone' | 'lease-lost' | 'generation-stale' }
  /** Another writer was faster; `rows` has the current content. */
  | { readonly type: 'changed'; readonly rows: readonly SeenPack[] };

/** serialization_failure and deadlock_detected. */
const TRY_AGAIN = ['40001', '40P01'];

/** The tile sets and the rows of packs in PostgreSQL. */
export class PackIndex {
  readonly #database: Database;
  readonly #store: string;

  constructor(database: Database, store: string) {
    this.#database = database;
    this.#store = store;
  }

  /** The number of a tile set; null if it is not in the index. */
  async find(set: TileSetKey): Promise<number | null> {
    const query = sql<{ id: number }>`select id from tile_sets
      where store = ${this.#store} and identity = ${tileSetId(set)} and dropped_at is null`;
    return (await askIndex(() => query.execute(this.#database.query))).rows[0]?.id ?? null;
  }

  async create(set: TileSetKey): Promise<void> {
    const query = sql`insert into tile_sets (store, layer, identity)
      values (${this.#store}, ${JSON.stringify(set.layer)}, ${tileSetId(set)})
      on conflict (store, identity) where dropped_at is null do nothing`;
    await askIndex(() => query.execute(this.#database.change));
  }

  /** Whether the index has no tile sets. */
  async isEmpty(): Promise<boolean> {
    const query = sql`select from tile_sets where store = ${this.#store} and dropped_at is null limit 1`;
    return (await askIndex(() => query.execute(this.#database.query))).rows.length === 0;
  }

  /**
   * As `create`, with the number that is in the keys of the set's objects; later tile sets get greater ones. With
   * `droppedAt` it counts as dropped then and as swept, because it has no rows of packs.
   */
  async restore(id: number, set: TileSetKey, droppedAt: number | null = null): Promise<void> {
    const insert = sql`insert into tile_sets (id, store, layer, identity, dropped_at, swept) overriding system value
      values (${id}, ${this.#store}, ${JSON.stringify(set.layer)}, ${tileSetId(set)}, ${droppedAt}, ${droppedAt !== null})
      on conflict do nothing`;
    await askIndex(() => insert.execute(this.#database.change));
    await this.#raise('tile_sets_id_seq', id);
  }

  /** Makes all further tickets greater than this number. */
  ticketsAfter(number: number): Promise<void> {
    return this.#raise('tile_tickets', number);
  }

  /** `alter` locks the sequence; without it `setval` might undo concurrent increments. */
  async #raise(sequence: string, number: number): Promise<void> {
    const lock = sql`alter sequence ${sql.id(sequence)} cache 1`;
    const raise = sql`select setval(${sequence}, ${number}::bigint) from ${sql.id(sequence)} where last_value <= ${number}`;
    await askIndex(() =>
      this.#database.transaction(null, async (inside) => {
        await lock.execute(inside);
        await raise.execute(inside);
      }),
    );
  }

  /** The next packs that touch `rect`. */
  async slice(
    set: TileSetKey,
    z: number,
    rect: TileRect,
    after: PackCursor,
    limit: number,
  ): Promise<PackSlice> {
    const edges = edgesOf(rect).map(packOf);
    const [minX = 0, , minY = 0, maxY = 0] = edges;
    const from = after.band < 0 ? { band: bandOf(minY), x: minX, y: -1 } : after;
    const isLastBand = bandOf(maxY) === from.band;
    const query = this.#sliceStatement(set, z, edges, from, limit, isLastBand);
    const { rows } = await askIndex(() => query.execute(this.#database.query));
    const found = rows.flatMap(({ x, y, detail, marks }) => {
      if (x === null) return [];
      return [{ x, y, detail, marks: marksHere((marks ?? []).map(markRow), set, blockAt(x, y, PACK_SIZE)) }];
    });
    const last = found.at(-1);
    const band = rows[0]?.next ?? null;
    const inNextBand = band === null || band > bandOf(maxY) ? null : { band, x: minX, y: -1 };
    const isFull = last && found.length === limit;
    const next = isFull ? { band: from.band, x: last.x, y: last.y } : inNextBand;
    return { set: rows[0]?.id ?? null, rows: found, next };
  }

  /** `offset 0` makes PostgreSQL search marks by place first, however many marks its planner expects. */
  #sliceStatement(
    { layer, gridSet, ...names }: TileSetKey,
    z: number,
    [minX, maxX, minY, maxY]: readonly number[],
    { band, x, y }: PackCursor,
    limit: number,
    isLastBand: boolean,
  ): RawBuilder<FoundRow> {
    const next = isLastBand
      ? sql`null::int`
      : sql`(select min(band) from packs where tile_set = s.id and z = ${z}::smallint and band > ${band})`;
    const start = levelStart(layer, gridSet, z);
    const corner = (add: number) =>
      sql`point(${start}::float8 + (p.x * ${sql.lit(PACK_SIZE)} + ${sql.lit(add)}), p.y * ${sql.lit(PACK_SIZE)} + ${sql.lit(add)})`;
    return sql<FoundRow>`select s.id, ${next} as next, p.x, p.y, p.detail, m.marks from tile_sets s
      left join lateral (
        select x, y, detail from packs where tile_set = s.id and z = ${z}::smallint and band = ${band}
          and (x, y) > (${x}::int, ${y}::int) and x between ${minX} and ${maxX} and y between ${minY} and ${maxY}
        order by x, y limit ${limit}
      ) p on true
      left join lateral (
        select json_agg(json_build_array(hides, effect, min_x, max_x, min_y, max_y, parts)) as marks from (
          select m.hides, m.effect, r.min_x, r.max_x, r.min_y, r.max_y, r.parts
          from mark_places r cross join lateral (select hides, effect from marks
            where id = r.mark and open and store = s.store and layer = s.layer offset 0) m
          where r.area && box(${corner(0)}, ${corner(PACK_SIZE - 1)}) and r.z = ${z} and r.grid_set = ${JSON.stringify(gridSet)}
          union all
          select hides, effect, null, null, null, null, null from marks
          where store = s.store and layer = s.layer and key = '' and open
        ) here
      ) m on true
      where s.store = ${this.#store} and s.identity = ${tileSetId({ layer, gridSet, ...names })} and s.dropped_at is null`;
  }

  async change(change: PackChange): Promise<ChangeOutcome> {
    try {
      const { rows } = await this.#changeStatement(change).execute(this.#database.change);
      const type = rows[0]?.outcome ?? 'done';
      return type === 'changed' ? { type, rows } : { type };
    } catch (error) {
      if (!hasCode(error, ...TRY_AGAIN)) return askIndex(() => Promise.reject(error));
      return { type: 'changed', rows: await this.#rowsOf(change) };
    }
  }

  #changeStatement({ set, id, z, packs, orphans, writtenAt, changedAt, lease, fence }: PackChange) {
    const { layer, gridSet } = set;
    return sql<SeenPack & { readonly outcome: ChangeOutcome['type'] }>`select * from change_packs(
      ${layerLock(this.#store, layer)}, ${id}, ${z}::smallint,
      ${packs.map(({ x }) => x)}, ${packs.map(({ y }) => y)},
      ${packs.map(({ seen }) => seen)}, ${packs.map(({ next }) => next)},
      ${packs.map(({ tiles }) => tiles)}, ${packs.map(({ bytes }) => bytes)}, ${packs.map(({ renewed }) => renewed)},
      ${writtenAt}, ${writtenAt === null ? null : touchedAt(writtenAt)}, ${changedAt},
      ${orphans.map(({ object }) => object)}, ${orphans.map(({ x }) => x)},
      ${orphans.map(({ y }) => y)}, ${orphans.map(({ bytes }) => bytes)},
      ${lease},
      ${fence?.ticket ?? null}, ${this.#store}, ${JSON.stringify(layer)}, ${JSON.stringify(gridSet)},
      ${fence && areaOf(layer, gridSet, z, fence.rect)}::box)`;
  }

  /** Lists objects for removal after their change was refused. */
  async abandon(id: number, z: number, orphans: readonly Orphan[]): Promise<void> {
    const query = sql`insert into orphans (object, tile_set, z, x, y, bytes)
      select w.object, ${id}, ${z}, w.x, w.y, w.bytes
      from unnest(${orphans.map(({ object }) => object)}::bigint[], ${orphans.map(({ x }) => x)}::int[],
        ${orphans.map(({ y }) => y)}::int[], ${orphans.map(({ bytes }) => bytes)}::bigint[]) w (object, x, y, bytes)`;
    await askIndex(() => query.execute(this.#database.change));
  }

  /** Drops all of a layer's tile sets, or one; no reader sees them when it returns. */
  async drop(layer: string, set: TileSetKey | null, now: number): Promise<void> {
    const only = set ? sql`and identity = ${tileSetId(set)}` : sql``;
    await askIndex(() =>
      this.#database.transaction(layerLock(this.#store, layer), (query) =>
        sql`update tile_sets set dropped_at = ${now}, dropped = pg_current_xact_id()::text::bigint
          where store = ${this.#store} and layer = ${JSON.stringify(layer)} and dropped_at is null ${only}`.execute(
          query,
        ),
      ),
    );
    await askIndex(() => this.#database.notify(TILE_CHANGES));
  }

  async #rowsOf({ id, z, packs }: PackChange): Promise<SeenPack[]> {
    const query = sql<SeenPack>`select w.x, w.y, p.detail
      from unnest(${packs.map(({ x }) => x)}::int[], ${packs.map(({ y }) => y)}::int[]) w (x, y)
      left join packs p on p.tile_set = ${id} and p.z = ${z} and p.band = w.y >> 5 and p.x = w.x and p.y = w.y`;
    return (await askIndex(() => query.execute(this.#database.query))).rows;
  }
}
