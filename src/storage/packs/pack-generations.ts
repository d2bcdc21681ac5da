import { sql } from 'kysely';
import type { Database, Statements } from '../../db/database.ts';
import { readPlace, type WrittenPlace, writePlace } from '../open-marks.ts';
import {
  MARKS_KEPT,
  type MarkEffect,
  type OpenMark,
  TILE_NEWS,
  type Ticket,
  type TilePlace,
} from '../tile-store.ts';
import { askIndex, askSoon, LARGEST_INDEX, type PackIndex } from './pack-index.ts';

const highest = (value: number) => Math.min(value, LARGEST_INDEX);

/** Generations that all nodes share. When `raise` returns, every writer of the layer has ended or sees the new generation. */
export function createPackGenerations(database: Database, store: string, index: PackIndex) {
  async function next(query: Statements, layer: string): Promise<number> {
    const raised = sql<{
      number: number;
    }>`insert into tile_generations values (${store}, ${layer}, nextval('tile_tickets'))
      on conflict (store, layer) do update set number = excluded.number returning number`;
    return (await raised.execute(query)).rows[0]?.number ?? 0;
  }

  /** A forgotten raise applies to the whole layer, and is reported to readers that have not seen it. */
  async function fold(query: Statements, layer: string): Promise<void> {
    await sql`with floor as (
        select number from tile_marks where store = ${store} and layer = ${layer}
        group by number order by number desc offset ${MARKS_KEPT} limit 1),
      gone as (
        delete from tile_marks where store = ${store} and layer = ${layer} and number <= (select number from floor)
        returning changed)
      insert into tile_marks (store, layer, number, changed)
      select ${store}, ${layer}, floor.number, (select max(changed) from gone) from floor`.execute(query);
  }

  async function mark(
    query: Statements,
    layer: string,
    number: number,
    places: readonly TilePlace[],
  ): Promise<void> {
    const rects = places.map(({ rect }) => rect);
    await sql`insert into tile_marks
      select ${store}, ${layer}, ${number}, w.*, pg_current_xact_id()::text::bigint
      from unnest(${places.map(({ gridSet }) => JSON.stringify(gridSet))}::text[],
        ${places.map(({ z }) => z)}::smallint[], ${rects.map(({ minX }) => minX)}::int[],
        ${rects.map(({ minY }) => minY)}::int[], ${rects.map(({ maxX }) => highest(maxX))}::int[],
        ${rects.map(({ maxY }) => highest(maxY))}::int[]) w`.execute(query);
  }

  /** One row for each grid set and zoom: a reader fetches only those of its own. */
  async function openMark(
    query: Statements,
    layer: string,
    number: number,
    places: readonly TilePlace[] | null,
    effect: MarkEffect,
  ): Promise<void> {
    const rows = places ?? [null];
    await sql`insert into open_marks (store, layer, number, effect, grid_set, z, place)
      select ${store}, ${layer}, ${number}, ${JSON.stringify(effect)}::jsonb, w.*
      from unnest(${rows.map((place) => place && JSON.stringify(place.gridSet))}::text[],
        ${rows.map((place) => place?.z ?? null)}::smallint[],
        ${rows.map((place) => place && writePlace(place))}::jsonb[]) w`.execute(query);
  }

  async function markAll(query: Statements, layer: string, number: number): Promise<void> {
    await sql`delete from tile_marks where store = ${store} and layer = ${layer}`.execute(query);
    await sql`insert into tile_marks (store, layer, number, changed)
      values (${store}, ${layer}, ${number}, pg_current_xact_id()::text::bigint)`.execute(query);
  }

  function latest(layer: string, place?: TilePlace) {
    if (!place) return sql`select number from tile_generations where store = ${store} and layer = ${layer}`;
    const { gridSet, z, rect } = place;
    return sql`select max(number) from tile_marks
      where store = ${store} and layer = ${layer} and (grid_set is null or (
        grid_set = ${JSON.stringify(gridSet)} and z = ${z}
        and min_x <= ${highest(rect.maxX)} and max_x >= ${rect.minX} and min_y <= ${highest(rect.maxY)} and max_y >= ${rect.minY}))`;
  }

  return {
    async read(layer: string, place?: TilePlace): Promise<number> {
      const query = sql<{
        generation: number | null;
      }>`select (${latest(JSON.stringify(layer), place)}) as generation`;
      const { rows } = await askSoon(() => query.execute(database.query));
      return rows[0]?.generation ?? 0;
    },
    async ticket(layer: string, place?: TilePlace): Promise<Ticket> {
      const query = sql<Ticket & { generation: number | null }>`select nextval('tile_tickets') as number,
        (${latest(JSON.stringify(layer), place)}) as generation`;
      const { rows } = await askSoon(() => query.execute(database.query));
      return { number: rows[0]?.number ?? 0, generation: rows[0]?.generation ?? 0 };
    },
    async raise(layer: string, places?: readonly TilePlace[] | null, effect?: MarkEffect): Promise<number> {
      const name = JSON.stringify(layer);
      const number = await askIndex(() =>
        database.transaction(index.lockOf(layer), async (query) => {
          const raised = await next(query, name);
          if (!places) await markAll(query, name, raised);
          if (places && places.length > 0) await mark(query, name, raised, places);
          if (places) await fold(query, name);
          if (effect) await openMark(query, name, raised, places ?? null, effect);
          return raised;
        }),
      );
      await askIndex(() => database.notify(TILE_NEWS));
      return number;
    },
    async openMarks(): Promise<readonly OpenMark[]> {
      const query = sql<
        Omit<OpenMark, 'places'> & { places: WrittenPlace[] | null }
      >`select layer::jsonb #>> '{}' as layer, number, effect,
          case when count(place) = 0 then null else jsonb_agg(place) end as places
        from open_marks where store = ${store} group by layer, number, effect order by number`;
      const { rows } = await askIndex(() => query.execute(database.query));
      return rows.map((mark) => ({ ...mark, places: mark.places?.map(readPlace) ?? null }));
    },
    async closeMark(layer: string, number: number): Promise<void> {
      const done = sql`delete from open_marks
        where store = ${store} and layer = ${JSON.stringify(layer)} and number = ${number}`;
      await askIndex(() => done.execute(database.change));
    },
  };
}
