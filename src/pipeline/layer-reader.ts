import type { BoundLayer } from '../catalog/catalog.ts';
import type { Format } from '../domain/format.ts';
import { subsetToDrawFrom } from '../domain/grid-subset.ts';
import { formatToDrawFrom } from '../domain/layer.ts';
import { rectOfTile } from '../domain/tile-rect.ts';
import { decodeImage } from '../raster/decode-image.ts';
import type { ReadableLayer } from '../sources/tile-source.ts';
import { askFeatureInfo, infoPlace } from './feature-info.ts';
import { metatileWith, notCached, resolveTileSet } from './resolve-tile-set.ts';
import type { TilePipeline } from './tile-pipeline.ts';

/** Lets a source look at the tiles of another layer, made as for clients. */
export function createLayerReader(
  pipeline: Pick<TilePipeline, 'read' | 'renew'>,
): (bound: BoundLayer) => ReadableLayer | null {
  return (bound) => {
    const format = formatToDrawFrom(bound.layer);
    return format && readableLayer(bound, format, pipeline);
  };
}

function readableLayer(
  bound: BoundLayer,
  format: Format,
  pipeline: Pick<TilePipeline, 'read' | 'renew'>,
): ReadableLayer {
  return {
    subsets: bound.layer.gridSubsets,
    async tile({ gridSet }, tile, { parameters, priority, signal }) {
      const names = { gridSet: gridSet.name, format: format.mediaType, parameters };
      const tiles = resolveTileSet(bound, names);
      // A task's tiles are made as a task's: requests of clients go first.
      if (priority === 'task') {
        const metatile = metatileWith(tiles, tile);
        await pipeline.renew({ tiles, metatile, within: rectOfTile(tile), mode: 'missing', signal });
      }
      const { bytes, standIn, outcome, warning } = await pipeline.read(tiles, tile, signal);
      if (standIn) throw notCached(tiles, tile);
      const pixels = await decodePicture(bytes, { width: gridSet.tileWidth, height: gridSet.tileHeight });
      return { pixels, stale: outcome === 'STALE' || warning !== undefined };
    },
    async info(request) {
      const { infoFormats, gridSubsets } = bound.layer;
      const { gridSet } = subsetToDrawFrom(gridSubsets, undefined, request.gridSet) ?? gridSubsets[0];
      const place = infoPlace(request, request.gridSet, gridSet);
      if (!infoFormats.includes(request.infoFormat) || !place) return null;
      const names = { gridSet: gridSet.name, format: format.mediaType, parameters: request.parameters };
      return await askFeatureInfo(resolveTileSet(bound, names), place);
    },
  };
}

/** Of exactly this size, to RGBA. */
export async function decodePicture(
  bytes: Buffer,
  { width, height }: { readonly width: number; readonly height: number },
): Promise<Buffer> {
  const { pixels } = await decodeImage(bytes, { maxPixels: width * height, size: { width, height } });
  return pixels;
}
