import type { Areas } from '../catalog/areas.ts';
import type { BoundLayer, LayersBelow } from '../catalog/catalog.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { Format } from '../domain/format.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { subsetToDrawFrom } from '../domain/grid-subset.ts';
import { formatToDrawFrom } from '../domain/layer.ts';
import type { Env } from '../lib/env.ts';
import { createComposer } from '../raster/compose-pictures.ts';
import { decodeTile } from '../raster/decode-tile.ts';
import { type SourceSettings, sourceDriverOf } from '../sources/drivers.ts';
import type { ReadableLayer, TileSource } from '../sources/tile-source.ts';
import { hostsNamedIn } from '../sources/upstream/address-guard.ts';
import type { UpstreamClient } from '../sources/upstream/upstream-client.ts';
import { rgbOf, withinArea } from '../sources/within/within-area.ts';
import { askFeatureInfo, infoPlace } from './feature-info.ts';
import { metatilesIn, notCached, resolveTileSet } from './resolve-tile-set.ts';
import type { TilePipeline } from './tile-pipeline.ts';

interface SourceOpenerParts extends Env {
  readonly upstreams: UpstreamClient;
  readonly areas: Pick<Areas, 'shapeOf'>;
  /** Not called before the first read: it needs the pipeline, which needs the catalog, which needs this opener. */
  readonly readLayer: (bound: BoundLayer) => ReadableLayer | null;
}

export type OpenedDeclaration = Pick<
  LayerDeclaration<SourceSettings>,
  'source' | 'areas' | 'within' | 'background'
>;

/** Opens the source of a layer, clipped to its area. */
export function createSourceOpener({ upstreams, areas, readLayer, clock, log }: SourceOpenerParts) {
  const composer = createComposer();
  return (declaration: OpenedDeclaration, below: Pick<LayersBelow, 'get'>): TileSource => {
    const { source, within, background } = declaration;
    const shapeOf = (name: string) => {
      const area = declaration.areas.get(name);
      return area && (() => areas.shapeOf(area));
    };
    const opened = sourceDriverOf(source).open(source, {
      upstream: upstreams.ownedBy(hostsNamedIn(source)),
      readLayer: (name) => {
        const lower = below.get(name);
        return lower ? readLayer(lower) : null;
      },
      areas: { get: shapeOf },
      decode: decodeTile,
      composer,
      clock,
      log,
    });
    const area = within === null ? null : shapeOf(within);
    return area
      ? withinArea(opened, area, background === null ? null : rgbOf(background), decodeTile)
      : opened;
  };
}

/** Lets a source read the tiles of another layer, as clients would. */
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
  const tilesIn = ({ name }: GridSet, parameters: ReadonlyMap<string, string>) =>
    resolveTileSet(bound, { gridSet: name, format: format.mediaType, parameters });
  return {
    subsets: bound.layer.gridSubsets,
    async fill({ gridSet }, z, rect, { parameters, signal }) {
      const tiles = tilesIn(gridSet, parameters);
      for (const { metatile, within } of metatilesIn(tiles, z, rect)) {
        await pipeline.renew({ tiles, metatile, within, mode: 'missing', signal });
      }
    },
    async tile({ gridSet }, tile, { parameters, signal }) {
      const tiles = tilesIn(gridSet, parameters);
      const { bytes, standIn, outcome, warning } = await pipeline.read(tiles, tile, signal);
      if (standIn) throw notCached(tiles, tile);
      return { bytes, stale: outcome === 'STALE' || warning !== undefined };
    },
    async info(request) {
      const { infoFormats, gridSubsets } = bound.layer;
      const { gridSet } = subsetToDrawFrom(gridSubsets, undefined, request.gridSet) ?? gridSubsets[0];
      const place = infoPlace(request, request.gridSet, gridSet);
      if (!infoFormats.includes(request.infoFormat) || !place) return null;
      return await askFeatureInfo(tilesIn(gridSet, request.parameters), place);
    },
  };
}
