import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../db/database.ts';
import type { TileRect } from '../../../domain/tile-rect.ts';
import { type MarkChange, type OpenMark, TILE_CHANGES, type Ticket, type TilePlace } from '../../store.ts';
import { edgesOf, levelHash } from '../mark-rows.ts';
import { changeMarks, type MarkTables, openMarks } from '../marks.ts';
import { type Statement, statement } from '../script.ts';
import { askIndex, askSoon, layerLock, runScript } from './ask-index.ts';

/** Count of strips in the plane of all marks, and the width of each. A double represents their product exactly. */
const [LEVELS, WIDTH] = [2 ** 20, 2 ** 31];

/** The left edge of the level's strip. Levels may share one, so rows are also compared by layer, grid set and zoom. */
export function levelStart(layer: string, gridSet: string, z: number): number {
  return (levelHash(layer, gridSet, z) % LEVELS) * WIDTH;
}

/** A rectangle in the plane of all marks, in PostgreSQL's syntax of a box. */
export function areaOf(layer: string, gridSet: string, z: number, rect: TileRect): string {
  const [minX, maxX, minY, maxY] = edgesOf(rect);
  const start = levelStart(layer, gridSet, z);
  return `((${start + minX},${minY}),(${start + maxX},${maxY}))`;
}

/**
 * The marks of a store in PostgreSQL. A place is a box in a plane in which each zoom of a layer's grid set has a strip, so
 * that one GiST index finds it. When `change` has raised a mark, every writer of the layer has ended or sees it.
 */
export function createMarkIndex(database: Database, store: string) {
  const tables = tablesOf(store);

  function latestOf(layer: string, place?: TilePlace): RawBuilder<unknown> {
    const name = JSON.stringify(layer);
    if (!place) return sql`select max(number) from marks where store = ${store} and layer = ${name}`;
    const { gridSet, z, rect } = place;
    return sql`select max(number) from (
      select number from marks where store = ${store} and layer = ${name} and key = ''
      union all
      select m.number from mark_places r cross join lateral (select number from marks
        where id = r.mark and store = ${store} and layer = ${name} offset 0) m
      where r.area && ${areaOf(layer, gridSet, z, rect)}::box and r.z = ${z} and r.grid_set = ${JSON.stringify(gridSet)}) here`;
  }

  return {
    /** The latest number of any mark of the layer, or of the place. */
    async generation(layer: string, place?: TilePlace): Promise<number> {
      const query = sql<{ latest: number | null }>`select (${latestOf(layer, place)}) as latest`;
      const { rows } = await askSoon(() => query.execute(database.query));
      return rows[0]?.latest ?? 0;
    },

    async ticket(layer: string, place?: TilePlace): Promise<Ticket> {
      const query = sql<{ number: number; latest: number | null }>`
        select nextval('tile_tickets') as number, (${latestOf(layer, place)}) as latest`;
      const { rows } = await askSoon(() => query.execute(database.query));
      return { number: rows[0]?.number ?? 0, generation: rows[0]?.latest ?? 0 };
    },

    /** As `Store.mark`. */
    async change(change: MarkChange): Promise<readonly number[]> {
      const layers = change.type === 'raise' ? change.raises.map(({ layer }) => layer) : [];
      // Locked in the same order by all callers, so that there is no deadlock.
      const [first = null, ...others] = [...new Set(layers)].map((layer) => layerLock(store, layer)).sort();
      const numbers = await askIndex(() =>
        database.transaction(first, async (query) => {
          for (const lock of others)
            await sql`select pg_advisory_xact_lock(hashtext(${`tilewarden:${lock}`}))`.execute(query);
          if (change.type === 'close')
            await sql`select id from marks where id in (
              select mark from raises where number = any(${change.numbers}::bigint[])) order by id for update`.execute(
              query,
            );
          return runScript(query, changeMarks(tables, change));
        }),
      );
      if (change.type === 'raise') await askIndex(() => database.notify(TILE_CHANGES));
      return numbers;
    },

    /** As `Store.marks`. */
    open: (after: number): Promise<readonly OpenMark[]> =>
      askIndex(() => runScript(database.query, openMarks(tables, after))),
  };
}

function tablesOf(store: string): MarkTables {
  return {
    isOwn: statement`store = ${store}`,
    columns: statement`store,`,
    values: statement`${store},`,
    renumbered: statement`, changed = default`,
    nextNumber: statement`select nextval('tile_tickets') as number`,
    lock: statement`for update`,
    places: (mark, layer, places) => (places.length === 0 ? [] : [insertPlaces(mark, layer, places)]),
  };
}

function insertPlaces(mark: number, layer: string, places: readonly TilePlace[]): Statement {
  const edges = places.map(({ rect }) => edgesOf(rect));
  // Boxes as text, because arrays of boxes have another separator than other arrays.
  return statement`insert into mark_places (mark, grid_set, z, area, min_x, max_x, min_y, max_y, parts)
    select ${mark}::bigint, grid_set, z, area::box, min_x, max_x, min_y, max_y, parts from unnest(
      ${places.map(({ gridSet }) => JSON.stringify(gridSet))}::text[],
      ${places.map(({ z }) => z)}::smallint[],
      ${places.map(({ gridSet, z, rect }) => areaOf(layer, gridSet, z, rect))}::text[],
      ${edges.map(([minX]) => minX)}::int[], ${edges.map(([, maxX]) => maxX)}::int[],
      ${edges.map(([, , minY]) => minY)}::int[], ${edges.map(([, , , maxY]) => maxY)}::int[],
      ${places.map(({ parts }) => (parts ? JSON.stringify([...parts]) : null))}::text[])
      w (grid_set, z, area, min_x, max_x, min_y, max_y, parts)`;
}
