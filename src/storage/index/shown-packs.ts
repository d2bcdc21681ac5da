import { type TileSetKey, tileSetId } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import type { IndexReader, ShownPack } from './index-reader.ts';

interface Kept {
  readonly x: number;
  readonly y: number;
  /** The index's change number before it was read. */
  readonly version: number;
  /** Null: there is none. */
  readonly pack: ShownPack | null;
}

/** The packs of a tile set by zoom, then by place. */
type Levels = Map<number, Kept>[];

/** Packs that are kept, of some kilobytes each. */
const MAX_KEPT = 8192;
/** More than the packs along a side of any zoom that has tiles; the place is compared where products are not exact. */
const SIDE = 2 ** 27;

/** Packs that were read lately, with the marks of their places. Each is used only while the index has not changed since it was read. */
export class ShownPacks {
  readonly #reader: IndexReader;
  readonly #bySet = new Map<string, Levels>();
  readonly #byObject = new WeakMap<TileSetKey, Levels>();
  #kept = 0;

  constructor(reader: IndexReader) {
    this.#reader = reader;
  }

  /** As of now; `x` and `y` count packs. */
  find(set: TileSetKey, z: number, x: number, y: number): ShownPack | null {
    const version = this.#reader.version();
    const levels = this.#levels(set);
    const key = x * SIDE + y;
    const known = levels[z]?.get(key);
    if (known && known.version === version && known.x === x && known.y === y) return known.pack;
    const pack = this.#reader.pack(set, z, x, y);
    if (this.#kept >= MAX_KEPT) this.#forgetAll();
    if (!known) this.#kept++;
    const level = levels[z] ?? new Map<number, Kept>();
    levels[z] = level;
    level.set(key, { x, y, version, pack });
    return pack;
  }

  #levels(set: TileSetKey): Levels {
    return getOrCreate(this.#byObject, set, () => getOrCreate(this.#bySet, tileSetId(set), () => []));
  }

  #forgetAll(): void {
    for (const levels of this.#bySet.values()) levels.length = 0;
    this.#kept = 0;
  }
}
