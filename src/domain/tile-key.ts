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
