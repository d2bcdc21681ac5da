import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { TileSetKey } from '../../domain/tile-key.ts';
import { packedTouch, rectContains, rectOfTile, type TileRect } from '../../domain/tile-rect.ts';
import type { Making } from '../pack-object.ts';
import {
  MARKS_AT_ONCE,
  type MarkEffect,
  type OpenMark,
  outdatedSince,
  type Raise,
  type TileEntry,
  type TilePlace,
} from '../store.ts';
import { Directory, tileInPack } from './directory.ts';
import type { IndexFile } from './index-file.ts';

/** Closed marks that a layer keeps apart; see `fold`. */
export const MAX_CLOSED = 10_000;
export const FOLDED = 1000;
/** Coordinates of the R-tree have 32 bits. */
const FAR = 2 ** 31 - 1;

/** Marks at a place, as a reader compares them with a tile. */
export interface MarkHere {
  readonly number: number;
  readonly effect: MarkEffect;
  /** Null: all of the place. */
  readonly touches: ((x: number, y: number) => boolean) | null;
}

/** A hash that tells a zoom of a layer's grid set from nearly all others. */
export function levelOf(layer: string, gridSet: string, z: number): number {
  return crc32(`${z} ${JSON.stringify([layer, gridSet])}`) & 0x7fffffff;
}

/** A making as it counts for readers of the tile; null: a mark hides it. */
export function shownBy(marks: readonly MarkHere[], making: Making, x: number, y: number): Making | null {
  let since = Number.POSITIVE_INFINITY;
  for (const { number, effect, touches } of marks) {
    if (making.ticket >= number || making.createdAt >= (effect.createdBefore ?? Number.POSITIVE_INFINITY))
      continue;
    if (touches && !touches(x, y)) continue;
    if (effect.type === 'hide') return null;
    since = Math.min(since, effect.at);
  }
  if (since === Number.POSITIVE_INFINITY) return making;
  return { ...making, freshUntil: outdatedSince(making.freshUntil, since) };
}

/** The tiles of a pack that are in `rect`. */
export function entriesIn(
  { x: packX, y: packY, detail }: { readonly x: number; readonly y: number; readonly detail: Buffer | null },
  set: number,
  z: number,
  rect: TileRect,
  marks: readonly MarkHere[],
): TileEntry[] {
  const directory = detail && Directory.read(detail, { set, z, x: packX, y: packY });
  return (directory?.tiles() ?? []).flatMap(({ slot, length: bytes, making }): TileEntry[] => {
    const { x, y } = tileInPack({ x: packX, y: packY }, slot);
    if (!rectContains(rect, x, y)) return [];
    const shown = shownBy(marks, making, x, y);
    const { createdAt, validator } = making;
    const { freshUntil } = shown ?? making;
    return [{ z, x, y, bytes, createdAt, freshUntil, validator, hidden: !shown }];
  });
}

export interface MarkRow {
  readonly number: number;
  readonly effect: string;
  /** Null: the whole layer. */
  readonly rect: TileRect | null;
  readonly parts: string | null;
}

/**
 * Open marks that touch `rect`, for tiles of the set. Of those that mean all of it in the same way one is left, with the
 * latest number and the earliest time, however many there are.
 */
export function marksHere(rows: readonly MarkRow[], set: TileSetKey, rect: TileRect): readonly MarkHere[] {
  const here: MarkHere[] = [];
  const whole = new Map<MarkEffect['type'], MarkHere>();
  for (const row of rows) {
    const effect = JSON.parse(row.effect) as MarkEffect;
    if (!concerns(effect, set)) continue;
    const { number } = row;
    if (!isWhole(row, rect) || effect.createdBefore !== undefined) {
      here.push({ number, effect, touches: touchesOf(row) });
      continue;
    }
    const known = whole.get(effect.type);
    const at = Math.min(effect.at, known?.effect.at ?? effect.at);
    whole.set(effect.type, {
      number: Math.max(number, known?.number ?? 0),
      effect: { ...effect, at },
      touches: null,
    });
  }
  return [...whole.values(), ...here];
}

function isWhole({ rect, parts }: MarkRow, within: TileRect): boolean {
  if (!rect) return true;
  return (
    parts === null &&
    rectContains(rect, within.minX, within.minY) &&
    rectContains(rect, within.maxX, within.maxY)
  );
}

function touchesOf({ rect, parts }: MarkRow): MarkHere['touches'] {
  if (!rect) return null;
  if (parts === null) return (x, y) => rectContains(rect, x, y);
  const packed = Float64Array.from(JSON.parse(parts) as number[]);
  return (x, y) => packedTouch(packed, rectOfTile({ x, y }));
}

interface MarkStateRow {
  readonly id: number;
  readonly open: number;
  readonly effect: string | null;
  readonly number: number;
}

/** Raises and closes marks. All of it within a transaction of the caller. */
export function prepareMarks(db: IndexFile) {
  const nextTicket = db
    .prepare<[], number>('UPDATE tickets SET last = last + 1 WHERE id = 1 RETURNING last')
    .pluck();
  const alike = db.prepare<[string, string], MarkStateRow>(
    'SELECT id, open, effect, number FROM marks WHERE layer = ? AND key = ?',
  );
  const insert = db
    .prepare<[string, number, number, number, string | null, string | null, string], number>(
      `INSERT INTO marks (layer, number, hides, open, effect, places, key)
       VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    )
    .pluck();
  const insertPlace = db.prepare(
    'INSERT INTO mark_places (min_level, max_level, min_x, max_x, min_y, max_y, mark, grid_set, z, parts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const insertRaise = db.prepare<[number, number, string]>('INSERT INTO raises VALUES (?, ?, ?)');
  const renumber = db.prepare<[number, number, string | null, number]>(
    'UPDATE marks SET number = ?, hides = ?, effect = ? WHERE id = ?',
  );
  const placesOf = db.prepare<[number], string | null>('SELECT places FROM marks WHERE id = ?').pluck();
  const rowsAt = db.prepare<
    [number, number, number, number, number, number, number],
    { readonly id: number }
  >(
    `SELECT id FROM mark_places WHERE min_level = ? AND max_level = ? AND min_x = ? AND max_x = ? AND min_y = ? AND max_y = ?
       AND mark = ?`,
  );
  const removePlace = db.prepare<[number]>('DELETE FROM mark_places WHERE id = ?');
  const remove = db.prepare<[number]>('DELETE FROM marks WHERE id = ?');
  const layerOf = db.prepare<[number], string>('SELECT layer FROM marks WHERE id = ?').pluck();
  const closedOf = db.prepare<[string], number>('SELECT id FROM marks WHERE layer = ? AND open = 0').pluck();
  const closedCount = db
    .prepare<[string], number>('SELECT count(*) FROM marks WHERE layer = ? AND open = 0')
    .pluck();
  const earliest = db.prepare<[string], { readonly id: number; readonly number: number }>(
    `SELECT id, number FROM marks WHERE layer = ? AND open = 0 AND places IS NOT NULL ORDER BY number LIMIT ${FOLDED}`,
  );
  const raiseRow = db.prepare<[number], { readonly mark: number }>(
    'SELECT mark FROM raises WHERE number = ?',
  );
  const removeRaise = db.prepare<[number]>('DELETE FROM raises WHERE number = ?');
  const latestRaise = db
    .prepare<[number], number | null>('SELECT max(number) FROM raises WHERE mark = ?')
    .pluck();
  const lower = db.prepare<[number, number]>('UPDATE marks SET hides = ? WHERE id = ?');
  const shut = db.prepare<[number]>('UPDATE marks SET open = 0, effect = NULL WHERE id = ?');

  function forget(id: number): void {
    const layer = layerOf.get(id);
    const places = placesOf.get(id);
    for (const { gridSet, z, rect } of places ? readPlaces(places) : []) {
      const level = levelOf(JSON.parse(layer ?? '""') as string, gridSet, z);
      const bounds = [level, level, ...edgesOf(rect)] as const;
      for (const row of rowsAt.all(...bounds, id)) removePlace.run(row.id);
    }
    remove.run(id);
  }

  /** A late writer with a ticket from before a forgotten mark is refused in the whole layer. */
  function fold(layer: string): void {
    if ((closedCount.get(layer) ?? 0) <= MAX_CLOSED) return;
    const folded = earliest.all(layer);
    const floors = alike.all(layer, '').filter(({ open }) => open === 0);
    const gone = [...folded, ...floors];
    for (const { id } of gone) forget(id);
    const floor = Math.max(...gone.map(({ number }) => number));
    if (gone.length > 0) insert.get(layer, floor, floor, 0, null, null, '');
  }

  function raise({ layer, places, effect }: Raise): number {
    const name = JSON.stringify(layer);
    const number = nextTicket.get() ?? 0;
    const { written, key } = writePlaces(places);
    if (places === null) for (const id of closedOf.all(name)) forget(id);
    const same = alike.all(name, key);
    for (const { id, open } of same) if (open === 0) forget(id);
    const joined = effect && same.find((mark) => mark.open === 1 && isSameEffect(mark.effect, effect));
    const text = effect && JSON.stringify(effect);
    if (joined) {
      renumber.run(number, number, JSON.stringify(withEarlier(joined.effect, effect)), joined.id);
      insertRaise.run(number, joined.id, JSON.stringify(effect));
      return number;
    }
    const id = insert.get(name, number, number, effect ? 1 : 0, text, written, key) ?? 0;
    for (const { gridSet, z, rect, parts } of places ?? []) {
      const level = levelOf(layer, gridSet, z);
      const text = parts ? JSON.stringify([...parts]) : null;
      insertPlace.run(level, level, ...edgesOf(rect), id, JSON.stringify(gridSet), z, text);
    }
    if (text !== null) insertRaise.run(number, id, text);
    fold(name);
    return number;
  }

  /** It goes on refusing late writers. */
  function close(number: number): void {
    const raised = raiseRow.get(number);
    if (!raised) return;
    removeRaise.run(number);
    const latest = latestRaise.get(raised.mark);
    if (typeof latest === 'number') lower.run(latest, raised.mark);
    else shut.run(raised.mark);
  }

  return { raise, close };
}

/** As `Store.marks`. */
export function readOpenMarks(db: IndexFile, after: number): readonly OpenMark[] {
  const rows = db
    .prepare<
      [number, number],
      {
        readonly number: number;
        readonly layer: string;
        readonly effect: string;
        readonly places: string | null;
      }
    >(
      `SELECT r.number, m.layer, r.effect, m.places FROM raises r JOIN marks m ON m.id = r.mark
       WHERE r.number > ? ORDER BY r.number LIMIT ?`,
    )
    .all(after, MARKS_AT_ONCE);
  return rows.map(({ number, layer, effect, places }) => ({
    number,
    layer: JSON.parse(layer) as string,
    effect: JSON.parse(effect) as MarkEffect,
    places: places === null ? null : readPlaces(places),
  }));
}

/** As text, and a key by which marks of the same places are found. */
export function writePlaces(places: Raise['places']): {
  readonly written: string | null;
  readonly key: string;
} {
  if (!places) return { written: null, key: '' };
  const written = `[${places.map(writePlace).join()}]`;
  return { written, key: createHash('sha1').update(written).digest('base64') };
}

export function readPlaces(text: string): readonly TilePlace[] {
  return (JSON.parse(text) as WrittenPlace[]).map(readPlace);
}

/** Whether marks with these effects over the same places count as one. */
export function isSameEffect(text: string | null, { at: _, ...effect }: MarkEffect): boolean {
  if (text === null) return false;
  const { at: __, ...other } = JSON.parse(text) as MarkEffect;
  return JSON.stringify(other) === JSON.stringify(effect);
}

export function withEarlier(text: string | null, effect: MarkEffect): MarkEffect {
  const { at } = text === null ? effect : (JSON.parse(text) as MarkEffect);
  return { ...effect, at: Math.min(at, effect.at) };
}

/** As the R-tree has them. */
export function edgesOf({ minX, minY, maxX, maxY }: TileRect) {
  const near = (value: number) => Math.min(value, FAR);
  return [near(minX), near(maxX), near(minY), near(maxY)] as const;
}

/** Whether tiles of the set are meant. */
export function concerns(
  { formats, parametersId }: Pick<MarkEffect, 'formats' | 'parametersId'>,
  set: TileSetKey,
): boolean {
  if (formats && !formats.includes(set.format)) return false;
  return parametersId === undefined || parametersId === set.parametersId;
}

/** As JSON; `readPlace` reads the parsed form. */
function writePlace(place: TilePlace): string {
  return JSON.stringify({ ...place, ...(place.parts && { parts: [...place.parts] }) });
}

function readPlace({ parts, ...place }: WrittenPlace): TilePlace {
  return { ...place, ...(parts && { parts: Float64Array.from(parts) }) };
}

interface WrittenPlace extends Omit<TilePlace, 'parts'> {
  readonly parts?: readonly number[];
}
