import type { Areas } from '../catalog/areas.ts';
import type { BoundLayer, LayersBelow } from '../catalog/catalog.ts';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import type { Env } from '../lib/env.ts';
import { type SourceSettings, sourceDriverOf } from '../sources/drivers.ts';
import type { ReadableLayer, TileSource } from '../sources/tile-source.ts';
import { hostsNamedIn } from '../sources/upstream/address-guard.ts';
import type { UpstreamClient } from '../sources/upstream/upstream-client.ts';
import { rgbOf, withinArea } from '../sources/within/within-area.ts';
import { decodePicture } from './layer-reader.ts';

interface SourceOpenerParts extends Env {
  readonly upstreams: UpstreamClient;
  readonly areas: Pick<Areas, 'shapeOf'>;
  /** Called later: a source that draws from another layer needs the pipeline, which needs the catalog. */
  readonly readLayer: (bound: BoundLayer) => ReadableLayer | null;
}

export type OpenedDeclaration = Pick<
  LayerDeclaration<SourceSettings>,
  'source' | 'areas' | 'within' | 'background'
>;

/** Opens the source of a layer, clipped to its area. */
export function createSourceOpener({ upstreams, areas, readLayer, clock, log }: SourceOpenerParts) {
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
      decode: decodePicture,
      clock,
      log,
    });
    const area = within === null ? null : shapeOf(within);
    return area
      ? withinArea(opened, area, background === null ? null : rgbOf(background), decodePicture)
      : opened;
  };
}
