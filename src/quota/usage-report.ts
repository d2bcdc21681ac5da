import { type TileSetKey, tileSetId, withIncarnation } from '../domain/tile-key.ts';
import { getOrMake } from '../lib/get-or-make.ts';
import { type StoreChange, sumOfChanges } from '../storage/tile-store.ts';
import type { LedgerBlock } from './ledger-block.ts';

/** Bytes are what the tiles take on disk. */
export type Amount = StoreChange;

interface ZoomUsage extends Amount {
  readonly z: number;
}

interface TileSetUsage extends Amount {
  readonly gridSet: string;
  readonly format: string;
  readonly parametersId: string | null;
  readonly zooms: readonly ZoomUsage[];
}

export interface LayerUsage extends Amount {
  readonly name: string;
  readonly tileSets: readonly TileSetUsage[];
}

export interface StoresUsage extends Amount {
  readonly layers: readonly LayerUsage[];
}

interface Sum {
  bytes: number;
  tiles: number;
}

interface TileSetSum extends Sum {
  readonly set: TileSetKey;
  readonly zooms: Map<number, Sum>;
  readonly keys: Set<string>;
}

/** Adds up blocks by layer, tile set and zoom as they come and go. */
export class UsageSums {
  readonly #sets = new Map<string, TileSetSum>();
  readonly #layers = new Map<string, number>();
  /** Blocks of one tile set mostly come one after the other. */
  #last: TileSetSum | null = null;
  #total = 0;
  #usage: StoresUsage | null = null;

  /** The one object that stands for a tile set here. */
  known(set: TileSetKey): TileSetKey {
    if (this.#last?.set === set) return set;
    return this.#sets.get(tileSetId(set))?.set ?? set;
  }

  add(key: string, block: LedgerBlock): void {
    this.#count(block, 1).keys.add(key);
  }

  subtract(key: string, block: LedgerBlock): void {
    const sum = this.#count(block, -1);
    sum.keys.delete(key);
    if (sum.keys.size > 0) return;
    this.#sets.delete(tileSetId(block.set));
    this.#last = null;
  }

  diskBytes(layer: string | null): number {
    return layer === null ? this.#total : (this.#layers.get(layer) ?? 0);
  }

  keysOf(set: TileSetKey): Iterable<string> {
    return this.#sets.get(tileSetId(set))?.keys ?? [];
  }

  usage(): StoresUsage {
    if (!this.#usage) {
      const layers = layersOf([...this.#sets.values()]);
      this.#usage = { ...sumOfChanges(layers), layers };
    }
    return this.#usage;
  }

  #count({ set, z, diskBytes, tiles }: LedgerBlock, sign: 1 | -1): TileSetSum {
    const sum = this.#sumFor(set);
    const zoom = sum.zooms.get(z) ?? { bytes: 0, tiles: 0 };
    for (const each of [sum, zoom]) {
      each.bytes += sign * diskBytes;
      each.tiles += sign * tiles;
    }
    sum.zooms.set(z, zoom);
    if (zoom.bytes === 0 && zoom.tiles === 0) sum.zooms.delete(z);
    this.#total += sign * diskBytes;
    this.#layers.set(set.layer, this.diskBytes(set.layer) + sign * diskBytes);
    this.#usage = null;
    return sum;
  }

  #sumFor(set: TileSetKey): TileSetSum {
    if (this.#last?.set === set) return this.#last;
    const make = () => ({ set, bytes: 0, tiles: 0, zooms: new Map(), keys: new Set<string>() });
    this.#last = getOrMake(this.#sets, tileSetId(set), make);
    return this.#last;
  }
}

function layersOf(sets: readonly TileSetSum[]): LayerUsage[] {
  const byLayer = new Map<string, TileSetUsage[]>();
  for (const sum of byNames(sets)) {
    getOrMake(byLayer, sum.set.layer, () => []).push(tileSetUsage(sum));
  }
  const layers = Array.from(byLayer, ([name, tileSets]) => ({ name, ...sumOfChanges(tileSets), tileSets }));
  return layers.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Incarnations of one tile set are one to an administrator. */
function byNames(
  sets: readonly TileSetSum[],
): Iterable<Pick<TileSetSum, 'set' | 'bytes' | 'tiles' | 'zooms'>> {
  const sums = new Map<string, TileSetSum>();
  for (const { set, bytes, tiles, zooms, keys } of sets) {
    const id = tileSetId(withIncarnation(set, ''));
    const known = sums.get(id);
    if (!known) {
      sums.set(id, { set, bytes, tiles, zooms, keys });
      continue;
    }
    const levels = new Map(known.zooms);
    for (const [z, sum] of zooms) levels.set(z, sumOfChanges([levels.get(z), sum]));
    sums.set(id, { set, keys, zooms: levels, ...sumOfChanges([known, { bytes, tiles }]) });
  }
  return sums.values();
}

function tileSetUsage({ set, bytes, tiles, zooms }: Omit<TileSetSum, 'keys'>): TileSetUsage {
  const { gridSet, format, parametersId } = set;
  const levels = [...zooms].sort(([a], [b]) => a - b).map(([z, sum]) => ({ z, ...sum }));
  return { gridSet, format, parametersId, bytes, tiles, zooms: levels };
}
