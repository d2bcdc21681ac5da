import type { TileSetKey } from '../domain/tile-key.ts';
import type { MarkEffect, TilePlace } from './store.ts';

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
