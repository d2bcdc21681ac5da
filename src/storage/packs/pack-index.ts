import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { isTilewardenError, TilewardenError } from '../../domain/errors.ts';
import type { MetatileSize } from '../../domain/metatile.ts';
import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import type { TileRect } from '../../domain/tile-rect.ts';
import { orAborted } from '../../lib/deferred.ts';
import { hasCode } from '../../lib/error-code.ts';
import { OpenMarks, readPlace, type WrittenPlace } from '../open-marks.ts';
import { type OpenMark, TILE_NEWS } from '../tile-store.ts';

/** A tile set in use: the number of its row and the tiles of its packs, across and down. */
export interface SetRow extends MetatileSize {
  readonly id: number;
}

interface MarkRow extends Pick<OpenMark, 'number' | 'effect'> {
  readonly place: WrittenPlace | null;
}

/** `x` and `y` count packs. */
export interface PackRow {
  readonly x: number;
  readonly y: number;
  /** Null: there is none. */
  readonly detail: Buffer | null;
}

export interface PageChange {
  readonly x: number;
  readonly y: number;
  readonly tiles: number;
  readonly bytes: number;
  /** Whether tiles were replaced, removed or marked, not only added. */
  readonly renewed: boolean;
}

export interface PackChange {
  readonly set: TileSetKey;
  readonly setRow: SetRow;
  readonly z: number;
  readonly packs: readonly (PackRow & { readonly next: Buffer | null })[];
  readonly pages: readonly PageChange[];
  readonly orphans: readonly {
    readonly x: number;
    readonly y: number;
    readonly object: number;
    readonly bytes: number;
  }[];
  /** Milliseconds since 1970 if tiles were put. */
  readonly writtenAt: number | null;
  readonly lease: number | null;
  /** Nothing is done if `rect` has a later generation. */
  readonly fence: { readonly ticket: number; readonly rect: TileRect } | null;
}

export type ChangeOutcome =
  | { readonly type: 'done' | 'set-gone' | 'lease-lost' | 'generation-stale' }
  /** Another writer was faster: the current content. */
  | { readonly type: 'changed'; readonly rows: readonly PackRow[] };

interface OutcomeRow extends PackRow {
  readonly outcome: ChangeOutcome['type'];
}

/** serialization_failure and deadlock_detected. */
const TRY_AGAIN = ['40001', '40P01'];
export const LARGEST_INDEX = 2 ** 31 - 1;

/** The rows of packs in PostgreSQL. Each method is one statement. */
export class PackIndex {
  readonly #database: Database;
  readonly #store: string;

  constructor(database: Database, store: string) {
    this.#database = database;
    this.#store = store;
  }

  /** Held shared by changes of a layer's packs, exclusively by drops and raised generations. */
  lockOf(layer: string): string {
    return `tiles:${this.#store}:${JSON.stringify(layer)}`;
  }

  /** Null: it is not in use. */
  async find(set: TileSetKey): Promise<SetRow | null> {
    const query = sql<SetRow>`select id, columns, rows from tile_sets
      where store = ${this.#store} and identity = ${tileSetId(set)} and dropped_at is null`;
    return (await askIndex(() => query.execute(this.#database.query))).rows[0] ?? null;
  }

  /** The shape is kept for as long as the tile set is in use. */
  async create(set: TileSetKey, shape: MetatileSize): Promise<void> {
    const query = sql`insert into tile_sets (store, layer, identity, columns, rows)
      values (${this.#store}, ${JSON.stringify(set.layer)}, ${tileSetId(set)}, ${shape.columns}, ${shape.rows})
      on conflict (store, identity) where dropped_at is null do nothing`;
    await askIndex(() => query.execute(this.#database.change));
  }

  /** Whether anything is listed of this store. */
  async isEmpty(): Promise<boolean> {
    const query = sql`select from tile_sets where store = ${this.#store} and dropped_at is null limit 1`;
    return (await askIndex(() => query.execute(this.#database.query))).rows.length === 0;
  }

  /**
   * As `create`, with the number that the keys of its objects have; later ones are greater. With `droppedAt` as one
   * that was dropped and swept then.
   */
  async restore(
    id: number,
    set: TileSetKey,
    shape: MetatileSize,
    droppedAt: number | null = null,
  ): Promise<void> {
    const { columns, rows } = shape;
    const insert = sql`insert into tile_sets (id, store, layer, identity, columns, rows, dropped_at, swept)
      overriding system value
      values (${id}, ${this.#store}, ${JSON.stringify(set.layer)}, ${tileSetId(set)}, ${columns}, ${rows},
        ${droppedAt}, ${droppedAt !== null})
      on conflict do nothing`;
    await askIndex(() => insert.execute(this.#database.change));
    await this.#raise('tile_sets_id_seq', id);
  }

  /** From now on tickets are greater. */
  ticketsAfter(number: number): Promise<void> {
    return this.#raise('tile_tickets', number);
  }

  /** `alter` locks the sequence: what others take or raise in the meantime would be set back. */
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

  /**
   * The packs that touch `rect`, which is at most 128 × 128 tiles, and the open marks of the same moment; null: the tile
   * set is not in use.
   */
  async within(
    set: TileSetKey,
    z: number,
    rect: TileRect,
  ): Promise<{ setRow: SetRow; rows: PackRow[]; marks: OpenMarks } | null> {
    const { minX, minY } = rect;
    const [maxX, maxY] = [Math.min(rect.maxX, LARGEST_INDEX), Math.min(rect.maxY, LARGEST_INDEX)];
    const query = sql<SetRow & { x: number | null; y: number; detail: Buffer; marks: MarkRow[] | null }>`
      select s.id, s.columns, s.rows, p.x, p.y, p.detail, m.marks from tile_sets s
      left join lateral (
        select jsonb_agg(jsonb_build_object('number', number, 'effect', effect, 'place', place)) as marks
        from open_marks where store = s.store and layer = s.layer
          and (grid_set is null or grid_set = ${JSON.stringify(set.gridSet)} and z = ${z}::smallint)
      ) m on true
      left join lateral (
        select p.x, p.y, p.detail
        from generate_series((${minY}::int / s.rows) >> 5, (${maxY}::int / s.rows) >> 5) b (band)
        join packs p on p.tile_set = s.id and p.z = ${z}::smallint and p.band = b.band
          and p.x between ${minX}::int / s.columns and ${maxX}::int / s.columns
          and p.y between ${minY}::int / s.rows and ${maxY}::int / s.rows
      ) p on true
      where s.store = ${this.#store} and s.identity = ${tileSetId(set)} and s.dropped_at is null`;
    const { rows } = await askIndex(() => query.execute(this.#database.query));
    const [first] = rows;
    if (!first) return null;
    const setRow = { id: first.id, columns: first.columns, rows: first.rows };
    const marks = new OpenMarks(
      (first.marks ?? []).map(({ number, effect, place }) => ({
        layer: set.layer,
        number,
        effect,
        places: place && [readPlace(place)],
      })),
    );
    return {
      setRow,
      marks,
      rows: rows.flatMap(({ x, y, detail }) => (x === null ? [] : [{ x, y, detail }])),
    };
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

  #changeStatement({ set, setRow, z, packs, pages, orphans, writtenAt, lease, fence }: PackChange) {
    const rect = fence?.rect;
    return sql<OutcomeRow>`select * from change_packs(
      ${this.lockOf(set.layer)}, ${setRow.id}, ${z}::smallint,
      ${packs.map(({ x }) => x)}, ${packs.map(({ y }) => y)},
      ${packs.map(({ detail }) => detail)}, ${packs.map(({ next }) => next)},
      ${pages.map(({ x }) => x)}, ${pages.map(({ y }) => y)}, ${pages.map(({ tiles }) => tiles)},
      ${pages.map(({ bytes }) => bytes)}, ${pages.map(({ renewed }) => renewed)},
      ${writtenAt},
      ${orphans.map(({ object }) => object)}, ${orphans.map(({ x }) => x)},
      ${orphans.map(({ y }) => y)}, ${orphans.map(({ bytes }) => bytes)},
      ${lease},
      ${fence?.ticket ?? null}, ${this.#store}, ${JSON.stringify(set.layer)}, ${JSON.stringify(set.gridSet)},
      ${rect?.minX ?? null}, ${rect?.minY ?? null}, ${rect?.maxX ?? null}, ${rect?.maxY ?? null})`;
  }

  /** Objects that were written for nothing. */
  async abandon(setRow: SetRow, z: number, orphans: PackChange['orphans']): Promise<void> {
    const query = sql`insert into pack_orphans (object, tile_set, z, x, y, bytes)
      select w.object, ${setRow.id}, ${z}, w.x, w.y, w.bytes
      from unnest(${orphans.map(({ object }) => object)}::bigint[], ${orphans.map(({ x }) => x)}::int[],
        ${orphans.map(({ y }) => y)}::int[], ${orphans.map(({ bytes }) => bytes)}::int[]) w (object, x, y, bytes)`;
    await askIndex(() => query.execute(this.#database.change));
  }

  /** All of a layer's tile sets, or one; no reader sees them when this returns. */
  async drop(layer: string, set: TileSetKey | null, now: number): Promise<void> {
    const only = set ? sql`and identity = ${tileSetId(set)}` : sql``;
    await askIndex(() =>
      this.#database.transaction(this.lockOf(layer), (query) =>
        sql`update tile_sets set dropped_at = ${now}, dropped = pg_current_xact_id()::text::bigint
          where store = ${this.#store} and layer = ${JSON.stringify(layer)} and dropped_at is null ${only}`.execute(
          query,
        ),
      ),
    );
    await askIndex(() => this.#database.notify(TILE_NEWS));
  }

  async #rowsOf({ setRow, z, packs }: PackChange): Promise<PackRow[]> {
    const query = sql<PackRow>`select w.x, w.y, p.detail
      from unnest(${packs.map(({ x }) => x)}::int[], ${packs.map(({ y }) => y)}::int[]) w (x, y)
      left join packs p on p.tile_set = ${setRow.id} and p.z = ${z} and p.band = w.y >> 5 and p.x = w.x and p.y = w.y`;
    return (await askIndex(() => query.execute(this.#database.query))).rows;
  }
}

/** All queries of the index: an unreachable database is `store-failed`. */
export async function askIndex<Response>(question: () => Promise<Response>): Promise<Response> {
  try {
    return await question();
  } catch (cause) {
    if (isTilewardenError(cause)) throw cause;
    throw new TilewardenError('store-failed', 'The database that lists the stored tiles does not answer.', {
      cause,
    });
  }
}

/** Milliseconds. A statement may take longer, but no tile request waits for it. */
const READER_TIMEOUT_MS = 5000;

/** The same for tile requests, and before a tile is created. */
export function askSoon<Response>(question: () => Promise<Response>): Promise<Response> {
  return askIndex(() => orAborted(question(), AbortSignal.timeout(READER_TIMEOUT_MS)));
}
