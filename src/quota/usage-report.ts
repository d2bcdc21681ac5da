import { type TileSetKey, tileSetId, withIncarnation } from '../domain/tile-key.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
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
}

interface ZoomSum extends Sum {
  readonly blocks: Map<string, LedgerBlock>;
}

interface KnownSet extends TileSetSum {
  readonly zooms: Map<number, ZoomSum>;
}

/** Adds up blocks by layer, tile set and zoom as they come and go. */
export class UsageSums {
  readonly #sets = new Map<string, KnownSet>();
  readonly #layers = new Map<string, number>();
  /** Blocks of one tile set mostly come one after the other. */
  #last: KnownSet | null = null;
  #total = 0;
  #usage: StoresUsage | null = null;

  /** One object for equal keys. */
  known(set: TileSetKey): TileSetKey {
    return this.#find(set)?.set ?? set;
  }

  add(key: string, block: LedgerBlock): void {
    this.#count(block, 1).blocks.set(key, block);
  }

  subtract(key: string, block: LedgerBlock): void {
    const { blocks } = this.#count(block, -1);
    blocks.delete(key);
    const { zooms } = this.#sumFor(block.set);
    if (blocks.size === 0) zooms.delete(block.z);
    if (zooms.size > 0) return;
    this.#sets.delete(tileSetId(block.set));
    this.#last = null;
  }

  *blocksOf(set: TileSetKey, zoom?: number): Generator<LedgerBlock> {
    for (const [z, { blocks }] of this.#find(set)?.zooms ?? []) {
      if (zoom === undefined || z === zoom) yield* blocks.values();
    }
  }

  diskBytes(layer: string | null): number {
    return layer === null ? this.#total : (this.#layers.get(layer) ?? 0);
  }

  usage(): StoresUsage {
    if (!this.#usage) {
      const layers = layersOf([...this.#sets.values()]);
      this.#usage = { ...sumOfChanges(layers), layers };
    }
    return this.#usage;
  }

  #count({ set, z, diskBytes, tiles }: LedgerBlock, sign: 1 | -1): ZoomSum {
    const sum = this.#sumFor(set);
    const zoom = getOrCreate(sum.zooms, z, () => ({ bytes: 0, tiles: 0, blocks: new Map() }));
    for (const each of [sum, zoom]) {
      each.bytes += sign * diskBytes;
      each.tiles += sign * tiles;
    }
    this.#total += sign * diskBytes;
    this.#layers.set(set.layer, this.diskBytes(set.layer) + sign * diskBytes);
    this.#usage = null;
    return zoom;
  }

  #find(set: TileSetKey): KnownSet | null {
    if (this.#last?.set !== set) this.#last = this.#sets.get(tileSetId(set)) ?? null;
    return this.#last;
  }

  #sumFor(set: TileSetKey): KnownSet {
    const make = () => ({ set, bytes: 0, tiles: 0, zooms: new Map() });
    return this.#find(set) ?? getOrCreate(this.#sets, tileSetId(set), make);
  }
}

function layersOf(sets: readonly TileSetSum[]): LayerUsage[] {
  const byLayer = new Map<string, TileSetUsage[]>();
  for (const sum of byNames(sets)) {
    getOrCreate(byLayer, sum.set.layer, () => []).push(tileSetUsage(sum));
  }
  const layers = Array.from(byLayer, ([name, tileSets]) => ({ name, ...sumOfChanges(tileSets), tileSets }));
  return layers.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Incarnations of one tile set are one to an administrator. */
function byNames(sets: readonly TileSetSum[]): Iterable<TileSetSum> {
  const sums = new Map<string, TileSetSum>();
  for (const { set, bytes, tiles, zooms } of sets) {
    const id = tileSetId(withIncarnation(set, ''));
    const known = sums.get(id);
    if (!known) {
      sums.set(id, { set, bytes, tiles, zooms });
      continue;
    }
    const levels = new Map(known.zooms);
    for (const [z, sum] of zooms) levels.set(z, sumOfChanges([levels.get(z), sum]));
    sums.set(id, { set, zooms: levels, ...sumOfChanges([known, { bytes, tiles }]) });
  }
  return sums.values();
}

function tileSetUsage({ set, bytes, tiles, zooms }: TileSetSum): TileSetUsage {
  const { gridSet, format, parametersId } = set;
  const levels = [...zooms].sort(([a], [b]) => a - b).map(([z, { bytes, tiles }]) => ({ z, bytes, tiles }));
  return { gridSet, format, parametersId, bytes, tiles, zooms: levels };
}
