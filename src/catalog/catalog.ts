import { TilewardenError } from '../domain/errors.ts';
import type { GridSetBook } from '../domain/grid-set-book.ts';
import type { Layer } from '../domain/layer.ts';
import type { Logger } from '../lib/logger.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { TileStore } from '../storage/tile-store.ts';
import type { BoundLayer } from './bound-layer.ts';
import { createLayer } from './create-layer.ts';
import type { LayerDeclaration } from './layer-declaration.ts';

/** Layers, grid sets and stores as they are declared now. */
export interface Catalog {
  /** Another number whenever a layer was added, changed or removed: what is derived from layers is kept by it. */
  readonly version: number;
  layer(name: string): BoundLayer | null;
  /** In the order of declaration. Layers are made while one goes through them. */
  layers(): Iterable<Layer>;
  layerNames(): Iterable<string>;
  readonly gridSets: GridSetBook;
  stores(): ReadonlyMap<string, TileStore>;
  /** Closes the sources it opened. The stores belong to whoever opened them. */
  close(): Promise<void>;
}

export interface CatalogOptions<Source> {
  readonly layers: readonly LayerDeclaration<Source>[];
  readonly gridSets: GridSetBook;
  readonly stores: ReadonlyMap<string, TileStore>;
  /** Touches no network: an upstream that is down is noticed when a tile is asked for. */
  readonly openSource: (source: Source, layer: string) => TileSource;
  readonly log: Logger;
}

export function openCatalog<Source>(options: CatalogOptions<Source>): Catalog {
  const declarations = new Map(options.layers.map((declaration) => [declaration.name, declaration]));
  const bound = new Map<string, BoundLayer>();
  const sources = new Map<string, TileSource>();

  function layer(name: string): BoundLayer | null {
    const known = bound.get(name);
    if (known) return known;
    const declaration = declarations.get(name);
    if (!declaration) return null;
    const made = bind(declaration);
    bound.set(name, made);
    return made;
  }

  function bind(declaration: LayerDeclaration<Source>): BoundLayer {
    return {
      layer: createLayer(declaration, options.gridSets),
      store: storeOf(declaration, options.stores),
      declared: declaration,
      source: () => sourceOf(declaration),
    };
  }

  function sourceOf(declaration: LayerDeclaration<Source>): TileSource {
    const open = sources.get(declaration.name);
    if (open) return open;
    const source = options.openSource(declaration.source, declaration.name);
    sources.set(declaration.name, source);
    options.log.debug({ layer: declaration.name }, 'source opened');
    return source;
  }

  function* layers(): Generator<Layer> {
    for (const name of declarations.keys()) {
      const found = layer(name);
      if (found) yield found.layer;
    }
  }

  async function close(): Promise<void> {
    const open = [...sources.values()];
    sources.clear();
    await Promise.all(open.map((source) => source.close()));
  }

  return {
    // Layers are those of the configuration file until the server ends.
    version: 1,
    layer,
    layers,
    layerNames: () => declarations.keys(),
    gridSets: options.gridSets,
    stores: () => options.stores,
    close,
  };
}

function storeOf(declaration: LayerDeclaration, stores: ReadonlyMap<string, TileStore>): TileStore {
  const store = stores.get(declaration.store);
  if (store) return store;
  throw new TilewardenError(
    'config-invalid',
    `Layer ${declaration.name} names the store ${declaration.store}, which is not declared.`,
  );
}
