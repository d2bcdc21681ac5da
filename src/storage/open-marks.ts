import type { TileIndex, TileSetKey } from '../domain/tile-key.ts';
import { type PackedRects, packedTouch, packRects, rectOfTile } from '../domain/tile-rect.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { type MarkEffect, type OpenMark, outdatedSince, type StoredTile, type TilePlace } from './store.ts';

interface Mark {
  readonly number: number;
  readonly effect: MarkEffect;
  /** Null: everywhere. */
  readonly rects: PackedRects | null;
}

type TileTimes = Pick<StoredTile, 'createdAt' | 'freshUntil'>;

/** Applies open marks to tiles as they are read, in every driver. Nearly always there are none. */
export class OpenMarks {
  /** By layer, then by grid set and zoom; under `EVERYWHERE` those of the whole layer. */
  readonly #marks = new Map<string, Map<string, Mark[]>>();

  constructor(marks: Iterable<OpenMark>) {
    for (const { layer, number, effect, places } of marks) {
      const levels = getOrCreate(this.#marks, layer, () => new Map<string, Mark[]>());
      const add = (level: string, rects: Mark['rects']) =>
        getOrCreate(levels, level, () => []).push({ number, effect, rects });
      if (!places) add(EVERYWHERE, null);
      for (const { gridSet, z, rect, parts } of places ?? [])
        add(levelName(gridSet, z), parts ?? packRects([rect]));
    }
  }

  /** The tile as it counts for readers; null: a truncation hides it. */
  shown<Tile extends TileTimes>(
    set: TileSetKey,
    { z, x, y }: TileIndex,
    tile: Tile,
    ticket: number,
  ): Tile | null {
    if (!this.#marks.has(set.layer)) return tile;
    const here = this.#of(set, z).filter(
      ({ number, effect, rects }) =>
        ticket < number &&
        tile.createdAt < (effect.createdBefore ?? Number.POSITIVE_INFINITY) &&
        (!rects || packedTouch(rects, rectOfTile({ x, y }))),
    );
    if (here.length === 0) return tile;
    if (here.some(({ effect }) => effect.type === 'hide')) return null;
    const at = Math.min(...here.map(({ effect }) => effect.at));
    return { ...tile, freshUntil: outdatedSince(tile.freshUntil, at) };
  }

  #of(set: TileSetKey, z: number): readonly Mark[] {
    const levels = this.#marks.get(set.layer);
    if (!levels) return [];
    const marks = [...(levels.get(EVERYWHERE) ?? []), ...(levels.get(levelName(set.gridSet, z)) ?? [])];
    return marks.filter(({ effect }) => concerns(effect, set));
  }
}

const EVERYWHERE = '';

/** Whether tiles of the set are meant. */
export function concerns(
  { formats, parametersId }: Pick<MarkEffect, 'formats' | 'parametersId'>,
  set: TileSetKey,
): boolean {
  if (formats && !formats.includes(set.format)) return false;
  return parametersId === undefined || parametersId === set.parametersId;
}

/** As JSON; `readPlace` reads the parsed form. */
export function writePlace(place: TilePlace): string {
  return JSON.stringify({ ...place, ...(place.parts && { parts: [...place.parts] }) });
}

export function readPlace({ parts, ...place }: WrittenPlace): TilePlace {
  return { ...place, ...(parts && { parts: Float64Array.from(parts) }) };
}

export interface WrittenPlace extends Omit<TilePlace, 'parts'> {
  readonly parts?: readonly number[];
}

function levelName(gridSet: string, z: number): string {
  return `${z} ${gridSet}`;
}
