import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { TileSetKey } from '../../domain/tile-key.ts';
import { packedTouch, rectContains, rectOfTile, type TileRect } from '../../domain/tile-rect.ts';
import type { Making } from '../pack-object.ts';
import { type MarkEffect, outdatedSince, type Raise, type TileEntry, type TilePlace } from '../store.ts';
import { Directory, tileInPack } from './directory.ts';

/** The greatest coordinate of the R-tree, which has 32 bits. */
const FAR = 2 ** 31 - 1;

/** A mark at a place, as a reader compares it with tiles. */
export interface MarkHere {
  readonly number: number;
  readonly effect: MarkEffect;
  /** Whether it includes a tile; null: all tiles of the place. */
  readonly touches: ((x: number, y: number) => boolean) | null;
}

/** A hash of a zoom of a layer's grid set, which nearly no others share. */
export function levelHash(layer: string, gridSet: string, z: number): number {
  return crc32(`${z} ${JSON.stringify([layer, gridSet])}`) & 0x7fffffff;
}

/** The making that readers of the tile see; null if a mark hides it. */
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
 * Open marks that touch `rect`, for tiles of the set. Those of a type that cover all of it, without `createdBefore`, are
 * merged into one with the latest number and the earliest time.
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

/** The places as JSON, and a key by which marks of the same places are found. */
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

/** Whether raises with these effects for the same places share a mark. */
export function isSameEffect(text: string | null, { at: _, ...effect }: MarkEffect): boolean {
  if (text === null) return false;
  const { at: __, ...other } = JSON.parse(text) as MarkEffect;
  return JSON.stringify(other) === JSON.stringify(effect);
}

export function withEarlierTime(text: string | null, effect: MarkEffect): MarkEffect {
  const { at } = text === null ? effect : (JSON.parse(text) as MarkEffect);
  return { ...effect, at: Math.min(at, effect.at) };
}

/** `[minX, maxX, minY, maxY]`, within the limits of the R-tree. */
export function edgesOf({ minX, minY, maxX, maxY }: TileRect) {
  const near = (value: number) => Math.min(value, FAR);
  return [near(minX), near(maxX), near(minY), near(maxY)] as const;
}

/** Whether the effect includes tiles of the set. */
export function concerns(
  { formats, parametersId }: Pick<MarkEffect, 'formats' | 'parametersId'>,
  set: TileSetKey,
): boolean {
  if (formats && !formats.includes(set.format)) return false;
  return parametersId === undefined || parametersId === set.parametersId;
}

/** A place as JSON; `readPlace` reads the parsed form. */
function writePlace(place: TilePlace): string {
  return JSON.stringify({ ...place, ...(place.parts && { parts: [...place.parts] }) });
}

function readPlace({ parts, ...place }: WrittenPlace): TilePlace {
  return { ...place, ...(parts && { parts: Float64Array.from(parts) }) };
}

interface WrittenPlace extends Omit<TilePlace, 'parts'> {
  readonly parts?: readonly number[];
}
