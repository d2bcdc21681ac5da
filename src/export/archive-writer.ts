import type { Bounds } from '../domain/bounds.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Layer } from '../domain/layer.ts';
import type { TileIndex } from '../domain/tile-key.ts';

export interface ExportedTile extends TileIndex {
  readonly bytes: Buffer;
}

/** What an archive says about the tiles in it. */
export interface ArchiveContent {
  readonly layer: Pick<Layer, 'name' | 'title' | 'description' | 'attribution'>;
  readonly subset: GridSubset;
  readonly format: Format;
  readonly zoomStart: number;
  readonly zoomStop: number;
  /** In the CRS of the grid set. */
  readonly bounds: Bounds;
}

/**
 * A file of tiles in the making, under a name of its own until `finish`. What an interrupted export has written is
 * there when the same file is opened again.
 */
export interface ArchiveWriter {
  has(tile: TileIndex): boolean;
  /** What a process that dies had written last may be missing; what is there is whole. */
  put(tiles: readonly ExportedTile[]): void;
  /** The file is whole and has its name. Answers its size in bytes. */
  finish(): number;
  /** Leaves what was written for another attempt. */
  close(): void;
}
