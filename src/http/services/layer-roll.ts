import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Layer } from '../../domain/layer.ts';

export type ListedCatalog = Pick<Catalog, 'layers' | 'version'>;

/** All layers that are to be listed, as they are declared now. */
export type LayerRoll = () => Promise<readonly Layer[]>;

/** Layers are made while one goes through them, some 20 µs each. */
const LAYERS_PER_TURN = 100;

/** Goes through the catalog once for each of its versions, and lets others have their turns meanwhile. */
export function createLayerRoll(catalog: ListedCatalog): LayerRoll {
  let known: { readonly version: number; readonly layers: Promise<readonly Layer[]> } | null = null;
  return () => {
    if (known?.version !== catalog.version) {
      known = { version: catalog.version, layers: walk(catalog) };
      // A layer that cannot be made is tried again by whoever asks next.
      known.layers.catch(() => {
        known = null;
      });
    }
    return known.layers;
  };
}

async function walk(catalog: ListedCatalog): Promise<readonly Layer[]> {
  const layers: Layer[] = [];
  let seen = 0;
  for (const layer of catalog.layers()) {
    if (layer.enabled && layer.advertised) layers.push(layer);
    seen++;
    if (seen % LAYERS_PER_TURN === 0) await nextTurn();
  }
  return layers;
}
