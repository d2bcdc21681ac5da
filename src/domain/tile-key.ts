/** All tiles that share layer, grid set, format and parameters. */
export interface TileSetKey {
  readonly layer: string;
  /** The grid set's own name, never an alias. */
  readonly gridSet: string;
  /** Media type, e.g. `image/png`. */
  readonly format: string;
  /** SHA-1 of the parameters; null when all of them are defaults. */
  readonly parametersId: string | null;
  /** Distinguishes tiles of different declarations of the layer: see `catalog/incarnations.ts`. Absent: the first. */
  readonly incarnation?: string;
}

const FIRST = '';

/** A place in a grid set; rows count from the top. */
export interface TileIndex {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** One text for one tile set, for maps and locks: JSON keeps any two names apart. */
export function tileSetId({ layer, gridSet, format, parametersId, incarnation = FIRST }: TileSetKey): string {
  const names = [layer, gridSet, format, parametersId];
  return JSON.stringify(incarnation === FIRST ? names : [...names, incarnation]);
}

/** The reverse of `tileSetId`. */
export function tileSetOf(id: string): TileSetKey {
  const [layer, gridSet, format, parametersId, incarnation = FIRST] = JSON.parse(id) as [
    ...[string, string, string, string | null],
    string?,
  ];
  return withIncarnation({ layer, gridSet, format, parametersId }, incarnation);
}

/** The names that administrators see, without the incarnation. */
export function tileSetNames({ incarnation: _, ...names }: TileSetKey): Omit<TileSetKey, 'incarnation'> {
  return names;
}

export function withIncarnation(set: TileSetKey, incarnation: string): TileSetKey {
  const names = tileSetNames(set);
  return incarnation === FIRST ? names : { ...names, incarnation };
}

/** Tiles along a side of a page, the unit of use counting and eviction. */
export const PAGE_SIZE = 16;

/** Tiles along a side of a block of eight by eight pages, by which stores sum up their contents. */
export const BLOCK_SIZE = 8 * PAGE_SIZE;

export function pageOf(tileIndex: number): number {
  return Math.floor(tileIndex / PAGE_SIZE);
}

/** The id of the task that made a tile; `MADE_BY_REQUEST`: a client requested it; null: unknown. */
export type TileMaker = number | null;

/** Tasks count from 1. */
export const MADE_BY_REQUEST = 0;
