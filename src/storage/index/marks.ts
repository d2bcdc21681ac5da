/**
 * Changes of marks, for SQLite and PostgreSQL. A mark has a row in `marks`, one in `mark_places` for each place, and one
 * in `raises` for each open raise; raises with the same places and effect share a mark. `key`: a digest of the places, ''
 * for the whole layer. `number` is its latest raise: writers with earlier tickets are refused, even after it is closed.
 * `hides` is its latest open raise, for readers. Without an effect it only refuses writers, and is closed from the start.
 */
import { MAX_PLACES } from '../../db/migrations/create-index.ts';
import {
  MARKS_AT_ONCE,
  type MarkChange,
  type MarkEffect,
  type OpenMark,
  type Raise,
  type TilePlace,
} from '../store.ts';
import { edgesOf, isSameEffect, levelHash, readPlaces, withEarlierTime, writePlaces } from './mark-rows.ts';
import { type Script, type Statement, statement } from './script.ts';

/** Limit of closed marks of a layer, and how many are joined when it is exceeded by one; see `fold`. */
export const MAX_CLOSED = 10_000;
export const FOLDED = 1000;

/** Differences between the databases. */
export interface MarkTables {
  /** Whether a mark is of this store. */
  readonly isOwn: Statement;
  /** Further columns of a new mark and their values, each with a comma; and assignments for a mark with a new number. */
  readonly columns: Statement;
  readonly values: Statement;
  readonly renumbered: Statement;
  /** Returns a later `number` than any before. */
  readonly nextNumber: Statement;
  /** The end of a select that locks its rows for the transaction. */
  readonly lock: Statement;
  /** Inserts the places of a mark, which are deleted with it. */
  places(mark: number, layer: string, places: readonly TilePlace[]): Iterable<Statement>;
}

/** A row of a statement here. Only the selected columns are present. */
interface MarkRow {
  readonly id: number;
  readonly number: number;
  readonly layer: string;
  readonly effect: string | null;
  readonly places: string | null;
}

type MarkScript<Result> = Script<MarkRow, Result>;

/** As `Store.mark`, within a transaction. */
export function* changeMarks(tables: MarkTables, change: MarkChange): MarkScript<readonly number[]> {
  const numbers: number[] = [];
  if (change.type === 'close') {
    for (const number of change.numbers) yield* close(tables, number);
    return numbers;
  }
  for (const one of change.raises) numbers.push(yield* raise(tables, one));
  for (const layer of new Set(change.raises.map((one) => one.layer))) yield* fold(tables, layer);
  return numbers;
}

function* raise(tables: MarkTables, { layer, places, effect }: Raise): MarkScript<number> {
  const name = JSON.stringify(layer);
  const { written, key } = writePlaces(places);
  const [{ number } = { number: 0 }] = yield tables.nextNumber;
  const isCovered = places === null ? statement`open = false` : statement`open = false and key = ${key}`;
  yield statement`delete from marks where ${tables.isOwn} and layer = ${name} and ${isCovered}`;
  if (effect && (yield* join(tables, name, key, number, effect))) return number;
  const id = yield* insert(tables, name, number, effect, written, key);
  for (const one of places ? tables.places(id, layer, places) : []) yield one;
  if (effect) yield insertRaise(id, number, effect);
  return number;
}

function* insert(
  { columns, values }: MarkTables,
  layer: string,
  number: number,
  effect: MarkEffect | null,
  places: string | null,
  key: string,
): MarkScript<number> {
  const isOpen = effect ? statement`true` : statement`false`;
  const [mark] =
    yield statement`insert into marks (${columns} layer, number, hides, open, effect, places, key)
    values (${values} ${layer}, ${number}, ${number}, ${isOpen}, ${effect && JSON.stringify(effect)}, ${places}, ${key}) returning id`;
  return mark?.id ?? 0;
}

function insertRaise(mark: number, number: number, effect: MarkEffect): Statement {
  return statement`insert into raises (number, mark, effect) values (${number}, ${mark}, ${JSON.stringify(effect)})`;
}

/** Gives the number to an open mark with the same places and, apart from its time, effect. False if there is none. */
function* join(
  { isOwn, lock, renumbered }: MarkTables,
  layer: string,
  key: string,
  number: number,
  effect: MarkEffect,
): MarkScript<boolean> {
  const alike = yield statement`select id, effect from marks
    where ${isOwn} and layer = ${layer} and key = ${key} and open = true ${lock}`;
  const mark = alike.find((one) => isSameEffect(one.effect, effect));
  if (!mark) return false;
  const joined = JSON.stringify(withEarlierTime(mark.effect, effect));
  yield statement`update marks set number = ${number}, hides = ${number}, effect = ${joined} ${renumbered} where id = ${mark.id}`;
  yield insertRaise(mark.id, number, effect);
  return true;
}

/** Replaces the earliest closed marks by one for the whole layer, which refuses more late writers, never fewer. */
function* fold(tables: MarkTables, layer: string): MarkScript<void> {
  const name = JSON.stringify(layer);
  const closed = statement`from marks where ${tables.isOwn} and layer = ${name} and open = false`;
  const [count] = yield statement`select count(*) as number ${closed}`;
  const excess = (count?.number ?? 0) - MAX_CLOSED;
  if (excess <= 0) return;
  const earliest = statement`select id ${closed} and key <> '' order by number limit ${excess - 1 + FOLDED}`;
  const gone = yield statement`delete from marks where id in (
    select id ${closed} and key = '' union all select id from (${earliest}) earliest) returning number`;
  const latestNumber = gone.reduce((latest, { number }) => Math.max(latest, number), 0);
  yield* insert(tables, name, latestNumber, null, null, '');
}

/** Closes a raise: readers no longer obey it, but its mark still refuses late writers. */
function* close({ lock }: MarkTables, number: number): MarkScript<void> {
  const raised = statement`select mark from raises where number = ${number}`;
  const [mark] = yield statement`select id from marks where id = (${raised}) ${lock}`;
  if (!mark) return;
  yield statement`delete from raises where number = ${number}`;
  const [latest] =
    yield statement`select number from raises where mark = ${mark.id} order by number desc limit 1`;
  yield latest
    ? statement`update marks set hides = ${latest.number} where id = ${mark.id}`
    : statement`update marks set open = false, effect = null where id = ${mark.id}`;
}

/** As `Store.marks`. */
export function* openMarks({ isOwn }: Pick<MarkTables, 'isOwn'>, after: number): MarkScript<OpenMark[]> {
  const rows =
    yield statement`select r.number, m.layer, r.effect, m.places from raises r join marks m on m.id = r.mark
    where ${isOwn} and r.number > ${after} order by r.number limit ${MARKS_AT_ONCE}`;
  return rows.map(({ number, layer, effect, places }) => ({
    number,
    layer: JSON.parse(layer) as string,
    effect: JSON.parse(effect ?? '') as MarkEffect,
    places: places === null ? null : readPlaces(places),
  }));
}

const NOTHING = statement``;

export const SQLITE_MARKS: MarkTables = {
  isOwn: statement`true`,
  columns: NOTHING,
  values: NOTHING,
  renumbered: NOTHING,
  nextNumber: statement`update tickets set last = last + 1 where id = 1 returning last as number`,
  lock: NOTHING,
  *places(mark, layer, places) {
    for (const [at, { gridSet, z, rect, parts }] of places.entries()) {
      const [level, edges] = [levelHash(layer, gridSet, z), edgesOf(rect)];
      const written = parts ? JSON.stringify([...parts]) : null;
      yield statement`insert into mark_places (id, min_level, max_level, min_x, max_x, min_y, max_y, mark, grid_set, z, parts)
        values (${mark * MAX_PLACES + at}, ${level}, ${level}, ${edges[0]}, ${edges[1]}, ${edges[2]}, ${edges[3]}, ${mark},
          ${JSON.stringify(gridSet)}, ${z}, ${written})`;
    }
  },
};
