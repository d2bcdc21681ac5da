import type { Layer } from '../domain/layer.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { OldCache } from '../storage/old-cache.ts';
import type { TileStore } from '../storage/tile-store.ts';
import type { LayerDeclaration } from './layer-declaration.ts';

/** A layer joined to its live source and store. */
export interface BoundLayer {
  readonly layer: Layer;
  readonly store: TileStore;
  /** As it is declared: the options of the source's driver, the store's name, the caches of other programs. */
  readonly declared?: Pick<LayerDeclaration, 'source' | 'store' | 'adopt'>;
  /** Opened when first needed. */
  source(): TileSource;
  /** What the layer has adopted, opened when first needed; absent: nothing. */
  readonly oldCache?: () => OldCache;
}
