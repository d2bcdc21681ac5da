import type { Bounds } from '../domain/bounds.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Format } from '../domain/format.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import type { Layer } from '../domain/layer.ts';
import { projectionOf } from '../domain/projection.ts';
import { isWebMercator } from '../domain/srs.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import type { TileRect } from '../domain/tile-rect.ts';
import type { TileLayer } from './vector-layers.ts';

/** Names of MBTiles 1.3; PMTiles uses the same. */
const FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/png8': 'png',
  'image/png24': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'application/vnd.mapbox-vector-tile': 'pbf',
};

export function archiveFormat(content: Pick<ArchiveContent, 'format'>): string {
  const name = FORMATS[content.format.mediaType];
  if (name) return name;
  throw unfitFormat(content);
}

function unfitFormat({ format }: Pick<ArchiveContent, 'format'>): TilewardenError {
  return new TilewardenError('request-invalid', `This kind of archive cannot hold ${format.mediaType}.`);
}

/** Throws `request-invalid`. MBTiles and PMTiles have one grid: web mercator, whose resolution halves at each zoom. */
export function refuseUnfit(extension: string, content: ArchiveContent): void {
  const { gridSet } = content.subset;
  const format = archiveFormat(content);
  if (extension === '.gpkg' && format === 'pbf') throw unfitFormat(content);
  if (extension === '.gpkg' || isWebMercator(gridSet)) return;
  throw new TilewardenError(
    'request-invalid',
    `This kind of archive holds web mercator tiles only; ${gridSet.name} fits into a GeoPackage (.gpkg).`,
  );
}

export function archiveMetadata(content: ArchiveContent): Readonly<Record<string, string | number>> {
  const { layer, zoomStart, zoomStop } = content;
  const { minX, minY, maxX, maxY } = boundsInDegrees(content);
  const box = [minX, minY, maxX, maxY].map((degree) => Number(degree.toFixed(6)));
  const centre = [(minX + maxX) / 2, (minY + maxY) / 2].map((degree) => Number(degree.toFixed(6)));
  return {
    name: layer.title,
    format: archiveFormat(content),
    bounds: box.join(','),
    center: [...centre, zoomStart].join(','),
    minzoom: zoomStart,
    maxzoom: zoomStop,
    type: 'baselayer',
    version: '1',
    ...(layer.description && { description: layer.description }),
    ...(layer.attribution && { attribution: layer.attribution }),
  };
}

export function boundsInDegrees({ subset, bounds }: Pick<ArchiveContent, 'subset' | 'bounds'>): Bounds {
  return projectionOf(subset.gridSet)?.boundsToWgs84(bounds) ?? bounds;
}

export interface ExportedTile extends TileIndex {
  readonly bytes: Buffer;
  /** Layers of a vector tile. */
  readonly layers: readonly TileLayer[];
}

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
 * An unfinished file of tiles, under a temporary name until `finish`. Opening the same file again continues an
 * interrupted export.
 */
export interface ArchiveWriter {
  has(tile: TileIndex): boolean;
  /**
   * Batch by batch in the order of PMTiles (see `openPageList`); a batch that an earlier attempt has written in part
   * comes again as a whole. A crash may lose the latest batches, never a part of one.
   */
  put(tiles: readonly ExportedTile[]): void;
  /** Removes the tiles of a page. True: also everything after it, so that it must be put again. */
  forget(z: number, rect: TileRect): boolean;
  /** Tiles that are in the file. */
  count(): number;
  /** Completes and renames the file. Returns its size in bytes. `described`: vector layers as in TileJSON, not checked. */
  finish(described: readonly unknown[]): Promise<number>;
  /** Keeps the written part for another attempt. */
  close(): void;
}
