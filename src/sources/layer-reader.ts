import type { GridSubset } from '../domain/grid-subset.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import type { SourceRequest } from './tile-source.ts';

/** RGBA, row by row, not premultiplied; of the grid set's tile size. */
export type TilePixels = Buffer;

/** Another layer of this server, as far as a source may look at it. */
export interface ReadableLayer {
  readonly subsets: readonly GridSubset[];
  /** A tile that the subset covers, from the cache or made for it. Fails as a source does. */
  tile(
    subset: GridSubset,
    tile: TileIndex,
    request: Pick<SourceRequest, 'parameters' | 'priority' | 'signal'>,
  ): Promise<TilePixels>;
}

/** Null: there is no such layer, or it has no pictures. */
export type LayerReader = (name: string) => ReadableLayer | null;
