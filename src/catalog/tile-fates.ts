import { invalid } from '../domain/errors.ts';
import type { TileSetKey } from '../domain/tile-key.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import { collectYielding } from '../lib/yielding.ts';
import { amountInSet, tileSetsIn } from '../storage/read-tiles.ts';
import { NO_CHANGE, type StoreChange } from '../storage/store.ts';
import type { ChangeableCatalog } from './catalog.ts';
import {
  declaredIn,
  incarnationIn,
  isReachable,
  layersBelow,
  REMOVED,
  splitIncarnation,
  type TileChoice,
  type TileFacets,
  type TileRecord,
} from './incarnations.ts';

/** The fate of cached tiles: still right, kept for the former source, removed, or unreachable. */
export type Fate = 'kept' | 'stale' | 'truncated' | 'orphaned';

type JudgedCatalog = Pick<
  ChangeableCatalog<unknown>,
  'layer' | 'record' | 'layerNames' | 'declaration' | 'version'
>;

/** In place of the number that the change will get. */
const UNKNOWN = Number.MAX_SAFE_INTEGER;

/**
 * Returns the fate of a tile set under a planned change; null: it is unreachable already. Tiles drawn from others share
 * the fate of those. `layers`: the changed layers with their facets afterwards; null: removed.
 */
export function judgeOf(
  catalog: JudgedCatalog,
  layers: ReadonlyMap<string, TileFacets | null>,
  choice: TileChoice | null,
) {
  const judges = new Map(
    Array.from(layers, ([layer, facets]) => [layer, ownFates(catalog, layer, facets, choice)]),
  );
  const judge = (set: TileSetKey): Fate | null => {
    const bound = catalog.layer(set.layer);
    if (bound?.incarnation && bound.incarnation(set) !== (set.incarnation ?? '')) return null;
    const own = judges.get(set.layer)?.(set) ?? 'kept';
    if (own !== 'kept') return own;
    const { below } = splitIncarnation(set.incarnation);
    const fates = (bound?.drawnFrom?.(set.gridSet) ?? []).map((lower, at) =>
      lower ? judge({ ...set, ...lower, incarnation: below[at] ?? '' }) : null,
    );
    return (['truncated', 'stale'] as const).find((fate) => fates.includes(fate)) ?? 'kept';
  };
  return judge;
}

function ownFates(
  catalog: JudgedCatalog,
  name: string,
  facets: TileFacets | null,
  choice: TileChoice | null,
) {
  const record = catalog.record(name);
  const next =
    facets === null
      ? REMOVED
      : declaredIn(record, { facets, choice, at: 0, fresh: UNKNOWN, first: record ? 0 : UNKNOWN });
  return (set: TileSetKey): Fate => {
    if (facets === null) return 'truncated';
    const after = incarnationIn(next, facets, set);
    // Its grid set is no longer the layer's: it is never requested.
    if (after === null || after === splitIncarnation(set.incarnation).own) return 'kept';
    return isReachable(next, set) ? 'stale' : 'truncated';
  };
}

export interface PlannedEffects {
  /** The layers whose tiles the change may make wrong, and what these depend on afterwards; null: the layer is removed. */
  readonly layers: ReadonlyMap<string, TileFacets | null>;
  /** Layers drawn from them, directly or through others. */
  readonly above: readonly string[];
  /** Whether the layer would still offer a cached tile set. */
  readonly offers: (set: TileSetKey, store: unknown) => boolean;
}

export interface Affected extends StoreChange {
  readonly set: TileSetKey;
  readonly fate: Fate;
}

export async function effectsOf(
  catalog: JudgedCatalog & Pick<ChangeableCatalog<unknown>, 'stores'>,
  { layers, above, offers }: PlannedEffects,
  choice: TileChoice | null,
): Promise<readonly Affected[]> {
  const affected: Affected[] = [];
  const judge = judgeOf(catalog, layers, choice);
  for (const layer of [...layers.keys(), ...above]) {
    for (const store of catalog.stores().values()) {
      for (const set of await tileSetsIn(store, layer)) {
        const own = judge(set);
        const fate = own === 'kept' && layers.has(layer) && !offers(set, store) ? 'orphaned' : own;
        if (fate)
          affected.push({ set, fate, ...(fate === 'kept' ? NO_CHANGE : await amountInSet(store, set)) });
      }
    }
  }
  return affected;
}

export function usualChoice(tileSets: readonly Affected[]): TileChoice {
  if (tileSets.some(({ fate }) => fate === 'truncated')) return 'drop';
  return tileSets.some(({ fate }) => fate === 'stale') ? 'stale' : 'keep';
}

export function refuseWrong(tileSets: readonly Affected[]): void {
  const wrong = tileSets.find(({ fate }) => fate === 'truncated');
  if (!wrong) return;
  throw invalid(
    `tiles must be drop or be left out: the change gives cached tiles of ${wrong.set.layer} in ${wrong.set.gridSet} another meaning, so they cannot be kept or renewed.`,
  );
}

export function isRecorded(record: TileRecord | null, facets: TileFacets): boolean {
  return (
    record !== null &&
    declaredIn(record, { facets, choice: null, at: 0, fresh: UNKNOWN, first: UNKNOWN }) === record
  );
}

const drawn = new WeakMap<
  object,
  { readonly version: number; readonly above: ReadonlyMap<string, readonly string[]> }
>();

/** The layers that are drawn from each layer. */
export async function drawnFrom(
  catalog: Pick<JudgedCatalog, 'layerNames' | 'declaration' | 'version'>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { version } = catalog;
  const known = drawn.get(catalog);
  if (known?.version === version) return known.above;
  function* sources(): Generator<readonly [upper: string, lower: ReadonlySet<string>]> {
    for (const upper of catalog.layerNames()) {
      const below = layersBelow(catalog.declaration(upper)?.source);
      yield [upper, new Set(below.map(({ layer }) => layer))];
    }
  }
  const above = new Map<string, string[]>();
  for (const [upper, below] of await collectYielding(sources())) {
    for (const lower of below) getOrCreate(above, lower, () => []).push(upper);
  }
  drawn.set(catalog, { version, above });
  return above;
}

/** The layers that are drawn from these, also by way of others. */
export async function layersAbove(
  catalog: Pick<JudgedCatalog, 'layerNames' | 'declaration' | 'version'>,
  layers: readonly string[],
): Promise<readonly string[]> {
  const above = await drawnFrom(catalog);
  const names = new Set(layers);
  const own = new Set(layers);
  for (const lower of names) for (const upper of above.get(lower) ?? []) names.add(upper);
  return [...names].filter((name) => !own.has(name));
}
