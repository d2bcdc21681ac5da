import { type RawBuilder, sql } from 'kysely';
import type { Database, Statements } from '../../../db/database.ts';
import type { TileRect } from '../../../domain/tile-rect.ts';
import {
  type MarkChange,
  type MarkEffect,
  type OpenMark,
  type Raise,
  TILE_NEWS,
  type Ticket,
  type TilePlace,
} from '../../store.ts';
import {
  edgesOf,
  FOLDED,
  isSameEffect,
  levelOf,
  MAX_CLOSED,
  readPlaces,
  withEarlier,
  writePlaces,
} from '../mark-rows.ts';
import { askIndex, askSoon, layerLock } from './ask-index.ts';

interface MarkState {
  readonly id: number;
  readonly effect: string | null;
}

/** Coordinates of a level, beside each other: as many as a double holds exactly. */
const [LEVELS, WIDTH] = [2 ** 20, 2 ** 31];
/** Open marks that are read together. */
const SLICE = 500;

/** Where the level begins in the plane of all marks. */
export function levelStart(layer: string, gridSet: string, z: number): number {
  return (levelOf(layer, gridSet, z) % LEVELS) * WIDTH;
}

/** A rectangle in the plane of all marks, as PostgreSQL writes a box. */
export function areaOf(layer: string, gridSet: string, z: number, rect: TileRect): string {
  const [minX, maxX, minY, maxY] = edgesOf(rect);
  const start = levelStart(layer, gridSet, z);
  return `((${start + minX},${minY}),(${start + maxX},${maxY}))`;
}

/** The marks of a store in PostgreSQL. When `change` has raised one, every writer of the layer has ended or sees it. */
export class MarkIndex {
  readonly #database: Database;
  readonly #store: string;

  constructor(database: Database, store: string) {
    this.#database = database;
    this.#store = store;
  }

  /** The latest number of a mark. */
  async generation(layer: string, place?: TilePlace): Promise<number> {
    const query = sql<{ latest: number | null }>`select (${this.#latest(layer, place)}) as latest`;
    const { rows } = await askSoon(() => query.execute(this.#database.query));
    return rows[0]?.latest ?? 0;
  }

  async ticket(layer: string, place?: TilePlace): Promise<Ticket> {
    const query = sql<{ number: number; latest: number | null }>`
      select nextval('tile_tickets') as number, (${this.#latest(layer, place)}) as latest`;
    const { rows } = await askSoon(() => query.execute(this.#database.query));
    return { number: rows[0]?.number ?? 0, generation: rows[0]?.latest ?? 0 };
  }

  /** All or nothing. Returns the numbers of raised marks. */
  async change(change: MarkChange): Promise<readonly number[]> {
    if (change.type === 'close') {
      await askIndex(() => this.#database.transaction(null, (query) => close(query, change.numbers)));
      return [];
    }
    // In one order, so that no two callers wait for each other.
    const layers = new Set(change.raises.map(({ layer }) => layerLock(this.#store, layer)));
    const [first = null, ...others] = [...layers].sort();
    const numbers = await askIndex(() =>
      this.#database.transaction(first, async (query) => {
        for (const lock of others)
          await sql`select pg_advisory_xact_lock(hashtext(${`tilewarden:${lock}`}))`.execute(query);
        const raised: number[] = [];
        for (const raise of change.raises) raised.push(await this.#raise(query, raise));
        return raised;
      }),
    );
    await askIndex(() => this.#database.notify(TILE_NEWS));
    return numbers;
  }

  /** Those with a later number, from the earliest to the latest; some hundred. */
  async open(after: number): Promise<readonly OpenMark[]> {
    const query = sql<{ number: number; layer: string; effect: string; places: string | null }>`
      select r.number, m.layer, r.effect, m.places from raises r join marks m on m.id = r.mark
      where m.store = ${this.#store} and r.number > ${after} order by r.number limit ${SLICE}`;
    const { rows } = await askIndex(() => query.execute(this.#database.query));
    return rows.map(({ number, layer, effect, places }) => ({
      number,
      layer: JSON.parse(layer) as string,
      effect: JSON.parse(effect) as MarkEffect,
      places: places === null ? null : readPlaces(places),
    }));
  }

  #latest(layer: string, place?: TilePlace): RawBuilder<unknown> {
    const name = JSON.stringify(layer);
    if (!place) return sql`select max(number) from marks where store = ${this.#store} and layer = ${name}`;
    const { gridSet, z, rect } = place;
    return sql`select max(number) from (
      select number from marks where store = ${this.#store} and layer = ${name} and key = ''
      union all
      select m.number from mark_places r cross join lateral (select number from marks
        where id = r.mark and store = ${this.#store} and layer = ${name} offset 0) m
      where r.area && ${areaOf(layer, gridSet, z, rect)}::box and r.z = ${z} and r.grid_set = ${JSON.stringify(gridSet)}) here`;
  }

  async #raise(query: Statements, { layer, places, effect }: Raise): Promise<number> {
    const name = JSON.stringify(layer);
    const { written, key } = writePlaces(places);
    const { rows } = await sql<{ number: number }>`select nextval('tile_tickets') as number`.execute(query);
    const number = rows[0]?.number ?? 0;
    const forgotten = places === null ? sql`true` : sql`key = ${key}`;
    await sql`delete from marks where store = ${this.#store} and layer = ${name} and not open and ${forgotten}`.execute(
      query,
    );
    const joined = effect && (await this.#join(query, name, key, number, effect));
    if (joined) return number;
    const added = await sql<{
      id: number;
    }>`insert into marks (store, layer, number, hides, open, effect, places, key, changed)
      values (${this.#store}, ${name}, ${number}, ${number}, ${effect !== null}, ${effect && JSON.stringify(effect)}, ${written},
        ${key}, pg_current_xact_id()::text::bigint) returning id`.execute(query);
    const id = added.rows[0]?.id ?? 0;
    if (places && places.length > 0) await insertPlaces(query, id, layer, places);
    if (effect) await insertRaise(query, id, number, effect);
    await this.#fold(query, name);
    return number;
  }

  /** Whether an open mark of the same places and effect has taken the number. */
  async #join(query: Statements, layer: string, key: string, number: number, effect: MarkEffect) {
    const alike = await sql<MarkState>`select id, effect from marks
      where store = ${this.#store} and layer = ${layer} and key = ${key} and open for update`.execute(query);
    const mark = alike.rows.find((row) => isSameEffect(row.effect, effect));
    if (!mark) return false;
    await sql`update marks set number = ${number}, hides = ${number}, effect = ${JSON.stringify(withEarlier(mark.effect, effect))},
      changed = pg_current_xact_id()::text::bigint where id = ${mark.id}`.execute(query);
    await insertRaise(query, mark.id, number, effect);
    return true;
  }

  /** A late writer with a ticket from before a forgotten mark is refused in the whole layer. */
  async #fold(query: Statements, layer: string): Promise<void> {
    const closed = sql`from marks where store = ${this.#store} and layer = ${layer} and not open`;
    const count = await sql<{ many: boolean }>`select count(*) > ${MAX_CLOSED} as many ${closed}`.execute(
      query,
    );
    if (!count.rows[0]?.many) return;
    await sql`with gone as (
        delete from marks where id in (
          select id ${closed} and key = '' union all
          (select id ${closed} and key <> '' order by number limit ${FOLDED}))
        returning number, changed)
      insert into marks (store, layer, number, hides, open, key, changed)
      select ${this.#store}, ${layer}, max(number), max(number), false, '', max(changed) from gone`.execute(
      query,
    );
  }
}

async function insertPlaces(
  query: Statements,
  mark: number,
  layer: string,
  places: readonly TilePlace[],
): Promise<void> {
  const edges = places.map(({ rect }) => edgesOf(rect));
  // Boxes as text: in an array of boxes PostgreSQL separates elements otherwise than in all others.
  await sql`insert into mark_places (mark, grid_set, z, area, min_x, max_x, min_y, max_y, parts)
    select ${mark}, grid_set, z, area::box, min_x, max_x, min_y, max_y, parts from unnest(
      ${places.map(({ gridSet }) => JSON.stringify(gridSet))}::text[],
      ${places.map(({ z }) => z)}::smallint[],
      ${places.map(({ gridSet, z, rect }) => areaOf(layer, gridSet, z, rect))}::text[],
      ${edges.map(([minX]) => minX)}::int[], ${edges.map(([, maxX]) => maxX)}::int[],
      ${edges.map(([, , minY]) => minY)}::int[], ${edges.map(([, , , maxY]) => maxY)}::int[],
      ${places.map(({ parts }) => (parts ? JSON.stringify([...parts]) : null))}::text[])
      w (grid_set, z, area, min_x, max_x, min_y, max_y, parts)`.execute(query);
}

async function insertRaise(query: Statements, mark: number, number: number, effect: MarkEffect) {
  await sql`insert into raises (number, mark, effect) values (${number}, ${mark}, ${JSON.stringify(effect)})`.execute(
    query,
  );
}

/** They go on refusing late writers. */
async function close(query: Statements, numbers: readonly number[]): Promise<void> {
  const { rows } = await sql<{ id: number }>`select id from marks
    where id in (select mark from raises where number = any(${numbers}::bigint[])) order by id for update`.execute(
    query,
  );
  const marks = sql`any(${rows.map(({ id }) => id)}::bigint[])`;
  await sql`delete from raises where number = any(${numbers}::bigint[])`.execute(query);
  await sql`update marks m set hides = r.latest
    from (select mark, max(number) as latest from raises where mark = ${marks} group by mark) r where r.mark = m.id`.execute(
    query,
  );
  await sql`update marks m set open = false, effect = null
    where m.id = ${marks} and not exists (select from raises r where r.mark = m.id)`.execute(query);
}
