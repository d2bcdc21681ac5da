import { DEEPEST_ZOOM, WHOLE_LEVEL } from '../domain/tile-rect.ts';
import type { MarkEffect, TilePlace } from '../storage/store.ts';

/** Tiles to hide and remove, or to outdate, of all declarations of a layer and in all stores. */
export interface Removal extends Omit<MarkEffect, 'at' | 'byTask'> {
  /** Declared or not. */
  readonly layer: string;
  /** Null: the whole layer. */
  readonly places: readonly TilePlace[] | null;
}

/** Numbers of marks by store. */
export type RaisedMarks = Readonly<Record<string, number>>;

export const EVERY_LEVEL: readonly Omit<TilePlace, 'gridSet'>[] = Array.from(
  { length: DEEPEST_ZOOM + 1 },
  (_, z) => ({ z, rect: WHOLE_LEVEL }),
);
