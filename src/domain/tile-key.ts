/** All tiles that share layer, grid set, format and parameters. */
export interface TileSetKey {
  readonly layer: string;
  /** The grid set's own name, never an alias. */
  readonly gridSet: string;
  /** Media type, e.g. `image/png`. */
  readonly format: string;
  /** SHA-1 of the parameters; null when all of them are defaults. */
  readonly parametersId: string | null;
}

/** A place in a grid set; rows count from the top. */
export interface TileIndex {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** One text for one tile set, for maps and locks: JSON keeps any two names apart. */
export function tileSetId(set: TileSetKey): string {
  return JSON.stringify([set.layer, set.gridSet, set.format, set.parametersId]);
}

/** The reverse of `tileSetId`. */
export function tileSetOf(id: string): TileSetKey {
  const [layer, gridSet, format, parametersId] = JSON.parse(id) as [string, string, string, string | null];
  return { layer, gridSet, format, parametersId };
}

/** Tiles along a side of a page, the unit of use counting and eviction. */
export const PAGE_SIZE = 16;

export function pageOf(tileIndex: number): number {
  return Math.floor(tileIndex / PAGE_SIZE);
}

/** The id of the task that made a tile; `MADE_BY_REQUEST`: somebody asked for it; null: not known. */
export type TileMaker = number | null;

/** Tasks count from 1. */
export const MADE_BY_REQUEST = 0;
