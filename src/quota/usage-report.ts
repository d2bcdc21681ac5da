import { type TileSetKey, tileSetId, tileSetNames } from '../domain/tile-key.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import {
  type LevelUsage,
  NO_CHANGE,
  type Store,
  type StoreChange,
  type StoreUsage,
  sumOfChanges,
} from '../storage/store.ts';

/** Bytes are the sum of the tiles' lengths. */
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

/** Bytes of a layer; null: of all. */
export type UsedBytes = (layer: string | null) => number;

type Stores = ReadonlyMap<string, Pick<Store, 'usage'>>;

/** Usage of all stores: exact for all writing processes, as of some moment after the call. */
export async function readUsage(stores: Stores): Promise<StoreUsage> {
  const all = await Promise.all(Array.from(stores.values(), (store) => store.usage()));
  const files = all.reduce((sum, { sweeping }) => sum + sweeping.files, 0);
  const bytes = all.reduce((sum, { sweeping }) => sum + sweeping.bytes, 0);
  return { levels: all.flatMap(({ levels }) => levels), sweeping: { files, bytes } };
}

export async function readUsedBytes(stores: Stores): Promise<UsedBytes> {
  const { levels } = await readUsage(stores);
  const sums = new Map<string | null, number>();
  for (const { set, bytes } of levels)
    for (const layer of [set.layer, null]) sums.set(layer, (sums.get(layer) ?? 0) + bytes);
  return (layer) => sums.get(layer) ?? 0;
}

/** By layer, tile set and zoom. Incarnations of one tile set are one to an administrator. */
export function usageByLayer(levels: readonly LevelUsage[]): StoresUsage {
  const layers = new Map<string, Map<string, { set: TileSetKey; zooms: Map<number, Amount> }>>();
  for (const { set, z, tiles, bytes } of levels) {
    const sets = getOrCreate(layers, set.layer, () => new Map());
    const { zooms } = getOrCreate(sets, tileSetId(tileSetNames(set)), () => ({ set, zooms: new Map() }));
    zooms.set(z, sumOfChanges([zooms.get(z), { tiles, bytes }]));
  }
  const shown = Array.from(layers, ([name, sets]): LayerUsage => {
    const tileSets = Array.from(sets.values(), ({ set, zooms }) => tileSetUsage(set, zooms));
    return { name, ...sumOfChanges(tileSets), tileSets };
  });
  return { ...sumOfChanges(shown), layers: shown.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

function tileSetUsage(set: TileSetKey, zooms: ReadonlyMap<number, Amount>): TileSetUsage {
  const { gridSet, format, parametersId } = set;
  const levels = Array.from(zooms, ([z, amount]) => ({ z, ...amount })).sort((a, b) => a.z - b.z);
  return { gridSet, format, parametersId, ...sumOfChanges(levels), zooms: levels };
}

/** When the tiles of each layer last changed. A removal is dated when it was noticed. */
export class LayerChanges {
  readonly #known = new Map<string, Amount & { readonly changedAt: number }>();

  note(levels: readonly LevelUsage[], now: number): void {
    const found = new Map<string, Amount & { readonly changedAt: number }>();
    for (const { set, changedAt, ...amount } of levels) {
      const before = found.get(set.layer);
      const latest = Math.max(changedAt, before?.changedAt ?? 0);
      found.set(set.layer, { ...sumOfChanges([before, amount]), changedAt: latest });
    }
    for (const layer of new Set([...this.#known.keys(), ...found.keys()])) {
      const known = this.#known.get(layer);
      const { changedAt = 0, ...amount } = { ...NO_CHANGE, ...found.get(layer) };
      const isNewer = !known || changedAt > known.changedAt;
      const isSame = known?.tiles === amount.tiles && known.bytes === amount.bytes;
      if (isNewer) this.#known.set(layer, { ...amount, changedAt });
      else if (!isSame) this.#known.set(layer, { ...amount, changedAt: now });
    }
  }

  /** Milliseconds since 1970; null: nothing is known of the layer. */
  of(layer: string): number | null {
    return this.#known.get(layer)?.changedAt ?? null;
  }
}
