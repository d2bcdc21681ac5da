import type { Layer } from '../domain/layer.ts';
import type { TileSource } from '../sources/tile-source.ts';
import type { TileStore } from '../storage/tile-store.ts';

/** A layer joined to its live source and store. */
export interface BoundLayer {
  readonly layer: Layer;
  readonly store: TileStore;
  /** Opened when first needed. */
  source(): TileSource;
}
