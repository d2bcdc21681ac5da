import type { TileSetKey } from '../../domain/tile-key.ts';
import { readableName } from '../readable-name.ts';

/** A tile set's place in the index: its key with the number of its row. */
export interface IndexedSet {
  readonly id: number;
  readonly set: TileSetKey;
}

/** A block of tiles; `x` and `y` count packs, not tiles. */
export interface PackPlace {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** Bytes of the random part of a key: few enough to fit into a number exactly. */
export const OBJECT_BYTES = 6;
const OBJECT_DIGITS = OBJECT_BYTES * 2;

/** `<layer>/<grid set, format, parameters>/<number of the tile set>/<zoom>/<x>_<y>_<random>`. */
export function packKey(
  prefix: string,
  { id, set }: IndexedSet,
  { z, x, y }: PackPlace,
  object: number,
): string {
  const random = object.toString(16).padStart(OBJECT_DIGITS, '0');
  return `${prefix}${readableName(set.layer, [set.layer])}/${setName(set)}/${id}/${z}/${x}_${y}_${random}`;
}

function setName({ gridSet, format, parametersId }: TileSetKey): string {
  return readableName(`${gridSet} ${format}`, [gridSet, format, parametersId]);
}

export interface ParsedKey extends PackPlace {
  readonly id: number;
  readonly object: number;
}

/** Null: no pack is called so. */
export function parsePackKey(prefix: string, key: string): ParsedKey | null {
  const match = /^[^/]+\/[^/]+\/(\d+)\/(\d+)\/(\d+)_(\d+)_([0-9a-f]{12})$/.exec(
    key.startsWith(prefix) ? key.slice(prefix.length) : '',
  );
  if (!match) return null;
  const [id = 0, z = 0, x = 0, y = 0] = match.slice(1, 5).map(Number);
  return { id, z, x, y, object: Number.parseInt(match[5] ?? '', 16) };
}
