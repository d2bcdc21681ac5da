import { setMaxListeners } from 'node:events';
import { misconfigured, shortened, TilewardenError } from '../domain/errors.ts';
import type { GridSet, GridSetRegistry } from '../domain/grid-set.ts';
import { subsetToDrawFrom } from '../domain/grid-subset.ts';
import type { Layer } from '../domain/layer.ts';
import { type TileSetKey, withIncarnation } from '../domain/tile-key.ts';
import type { Clock } from '../lib/clock.ts';
import { getOrCreate } from '../lib/get-or-create.ts';
import type { Logger } from '../lib/logger.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { Store } from '../storage/store.ts';
import { createLayer } from './create-layer.ts';
import {
  facetsOf,
  incarnationIn,
  joinedIncarnation,
  layersBelow,
  plainName,
  type TileRecord,
} from './incarnations.ts';
import type { LayerDeclaration } from './layer-declaration.ts';
import type { KnownTimes, SeededTimes, TimeLists } from './time-lists.ts';

export type Catalog = Pick<
  ChangeableCatalog<unknown>,
  'layer' | 'layers' | 'layerNames' | 'gridSets' | 'stores' | 'version' | 'declaration' | 'record'
>;

/** Parsed when the layer is first used; null if it is invalid. */
type DeclaredLayer<Source> = () => LayerDeclaration<Source> | null;

export type ChangeableCatalog<Source> = ReturnType<typeof openCatalog<Source>>;

interface CatalogOptions<Source> {
  readonly layers: readonly LayerDeclaration<Source>[];
  readonly gridSets: GridSetRegistry;
  readonly stores: ReadonlyMap<string, Store>;
  /** Uses no network: an upstream that is down is noticed by the first request. */
  readonly openSource: (
    source: Source,
    declaration: LayerDeclaration<Source>,
    below: LayersBelow,
  ) => TileSource;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly log: Logger;
}

/** Milliseconds until the source of a replaced layer is closed: longer than any fetch takes. */
const RETIREMENT = 5 * 60_000;

export function openCatalog<Source>(options: CatalogOptions<Source>) {
  const { stores, openSource, clock, log } = options;
  const declared = new Map<string, DeclaredLayer<Source>>(
    options.layers.map((declaration) => [declaration.name, () => declaration]),
  );
  const bound = new Map<string, BoundLayer>();
  /** Bound layers that are drawn from a layer, by its name. */
  const above = new Map<string, Set<string>>();
  const binding = new Set<string>();
  const sources = new Map<BoundLayer, TileSource>();
  const records = new Map<string, TileRecord>();
  const times = new Map<string, TimeLists>();
  const seeded = new Map<string, SeededTimes>();
  const closing = new AbortController();
  // Any number of layers may retire together.
  setMaxListeners(0, closing.signal);
  const retiring = new Set<Promise<void>>();
  let gridSets = options.gridSets;
  let version = 0;

  function layer(name: string): BoundLayer | null {
    const known = bound.get(name);
    if (known) return known;
    const declaration = declared.get(name)?.();
    if (!declaration) return null;
    binding.add(name);
    try {
      const fresh = bind(declaration);
      bound.set(name, fresh);
      return fresh;
    } finally {
      binding.delete(name);
    }
  }

  /** Keeps the bound layers that it is drawn from: when one of them is bound again, so is this one. */
  function bind(declaration: LayerDeclaration<Source>): BoundLayer {
    const record = records.get(declaration.name) ?? null;
    const facets = facetsOf(declaration, gridSets);
    const from = layersBelow(declaration.source);
    const lower = new Map<string, BoundLayer>();
    for (const { layer: name } of from) {
      // A file and a database may declare a cycle between them.
      const one = binding.has(name) ? null : layer(name);
      if (one) lower.set(name, one);
      getOrCreate(above, name, () => new Set<string>()).add(declaration.name);
    }
    const registry = gridSets;
    const drawnFrom = (gridSet: string) => {
      const target = registry.find(plainName(gridSet));
      return from.map((part) => target && tileSetBelow(lower.get(part.layer), part.gridSet, target));
    };
    const below = (gridSet: string) =>
      drawnFrom(gridSet).map((set) => (set && lower.get(set.layer)?.incarnation?.(set)) ?? null);
    const self: BoundLayer = {
      incarnation: (set) => joinedIncarnation(incarnationIn(record, facets, set), below(set.gridSet)),
      drawnFrom,
      layer: createLayer(declaration, gridSets, clock, (name, origin) =>
        knownTimes(declaration.name, name, origin),
      ),
      store: storeOf(declaration, stores),
      stores,
      declared: declaration,
      source: () => sources.get(self) ?? opened(self, declaration, lower),
    };
    return self;
  }

  function knownTimes(layer: string, name: string, origin: string): KnownTimes {
    return {
      list() {
        const list = times.get(layer)?.get(name);
        return list?.origin === origin ? list : null;
      },
      seededUntil: () => seeded.get(layer)?.get(name) ?? null,
    };
  }

  function opened(self: BoundLayer, declaration: LayerDeclaration<Source>, lower: LayersBelow): TileSource {
    const source = openSource(declaration.source, declaration, lower);
    sources.set(self, source);
    log.debug({ layer: declaration.name }, 'source opened');
    return source;
  }

  function* layers(): Generator<Layer> {
    for (const name of declared.keys()) {
      const entry = layer(name);
      if (entry) yield entry.layer;
    }
  }

  function unbind(name: string): void {
    version++;
    const former = bound.get(name);
    bound.delete(name);
    const uppers = above.get(name) ?? [];
    above.delete(name);
    for (const upper of uppers) unbind(upper);
    if (!former || !sources.has(former)) return;
    const closed = retire(former).finally(() => retiring.delete(closed));
    retiring.add(closed);
  }

  async function retire(former: BoundLayer): Promise<void> {
    await clock.sleep(RETIREMENT, closing.signal).catch(() => {});
    const source = sources.get(former);
    sources.delete(former);
    await source?.close();
  }

  return {
    layer,
    /** In the order of declaration. Layers are created during the iteration. */
    layers: (): Iterable<Layer> => layers(),
    layerNames: (): Iterable<string> => declared.keys(),
    declaration: (name: string): LayerDeclaration<Source> | null => declared.get(name)?.() ?? null,
    get gridSets(): GridSetRegistry {
      return gridSets;
    },
    /** Rises with every change of a declaration, in this process. */
    get version(): number {
      return version;
    },
    stores: (): ReadonlyMap<string, Store> => stores,
    /** A layer of that name is replaced. Fetches under way end with the source they began with. */
    setLayer(name: string, declaration: DeclaredLayer<Source>): void {
      declared.set(name, declaration);
      unbind(name);
    },
    removeLayer(name: string): void {
      declared.delete(name);
      unbind(name);
    },
    record: (name: string): TileRecord | null => records.get(name) ?? null,
    records: (): Iterable<readonly [layer: string, record: TileRecord]> => records,
    /** The identity of the layer's tiles. Set before the declaration that it describes. */
    setRecord(name: string, record: TileRecord): void {
      records.set(name, record);
      unbind(name);
    },
    /** Times from the sources of a layer; layers stay bound. */
    setTimes(name: string, lists: TimeLists): void {
      times.set(name, lists);
    },
    setSeededTimes(name: string, until: SeededTimes): void {
      seeded.set(name, until);
    },
    /** Every layer is bound again. */
    setGridSets(registry: GridSetRegistry): void {
      gridSets = registry;
      for (const name of bound.keys()) unbind(name);
    },
    /** Closes the sources it opened. The stores belong to the function that opened them. */
    async close(): Promise<void> {
      closing.abort();
      await Promise.all(retiring);
      const open = [...sources.values()];
      sources.clear();
      await Promise.all(open.map((one) => one.close()));
    },
  };
}

function storeOf(declaration: LayerDeclaration, stores: ReadonlyMap<string, Store>): Store {
  const store = stores.get(declaration.store);
  if (store) return store;
  throw misconfigured(
    `Layer ${declaration.name} names the store ${declaration.store}, which is not declared.`,
  );
}

/** Null: the layer is not declared, or has no such grid set. */
function tileSetBelow(
  lower: BoundLayer | undefined,
  gridSet: string | undefined,
  target: GridSet,
): TileSetNames | null {
  const subset = lower && subsetToDrawFrom(lower.layer.gridSubsets, gridSet, target);
  if (!subset) return null;
  return { layer: lower.layer.name, gridSet: subset.gridSet.name, parametersId: null };
}

/** By their names. */
export type LayersBelow = ReadonlyMap<string, BoundLayer>;

type TileSetNames = Pick<TileSetKey, 'layer' | 'gridSet' | 'parametersId'>;

/** A layer joined to its live source and store. */
export interface BoundLayer {
  readonly layer: Layer;
  readonly store: Store;
  readonly stores?: ReadonlyMap<string, Store>;
  /** The incarnation of a tile set under this declaration; null: its tiles are not stored. */
  incarnation?(set: Pick<TileSetKey, 'gridSet' | 'parametersId'>): string | null;
  /** The tile sets of other layers that tiles in this grid set are drawn from; null in place of a missing one. */
  readonly drawnFrom?: (gridSet: string) => readonly (TileSetNames | null)[];
  /** The declaration: the options of the source's driver, the store's name, the caches of other programs. */
  readonly declared?: Pick<LayerDeclaration, 'source' | 'store' | 'adopt'>;
  /** Opened when first needed. */
  source(): TileSource;
}

/** All stores that may hold tiles of the layer, by name: it may have been in another one before. */
export function storesOf({
  store,
  stores,
}: Pick<BoundLayer, 'store' | 'stores'>): ReadonlyMap<string, Store> {
  return stores ?? new Map([['', store]]);
}

/** The same tile set under the incarnation of the declaration; null: its tiles are not stored. */
export function tileSetIn(
  bound: Pick<BoundLayer, 'incarnation'>,
  names: Omit<TileSetKey, 'incarnation'>,
): TileSetKey | null {
  const incarnation = bound.incarnation ? bound.incarnation(names) : '';
  return incarnation === null ? null : withIncarnation(names, incarnation);
}

/** Throws `layer-unknown`. */
export function boundLayer(catalog: Pick<Catalog, 'layer'>, name: string): BoundLayer {
  const bound = catalog.layer(name);
  if (bound) return bound;
  throw new TilewardenError('layer-unknown', `There is no layer ${shortened(name)}.`);
}
