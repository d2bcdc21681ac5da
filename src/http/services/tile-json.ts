import type { BoundLayer } from '../../catalog/bound-layer.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { isTilewardenError } from '../../domain/errors.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { jsonAnswer } from '../answer.ts';
import { isOpen, refuseStrangers } from '../layer-door.ts';
import type { Handler } from '../route.ts';
import { parametersOf } from './query-parameters.ts';
import { boundLayer } from './tiles.ts';
import { degreesOfMercator, webMercatorSubset } from './web-mercator.ts';

/** `/tiles/{layer}.json`: TileJSON 3.0.0, which knows web mercator only. */
export function createTileJson(catalog: Pick<Catalog, 'layer'>): Handler {
  return async (exchange) => {
    const bound = boundLayer(catalog, exchange.param('layer'));
    const { layer } = bound;
    await refuseStrangers(exchange, layer);
    const subset = webMercatorSubset(layer);
    const query = new URLSearchParams([...parametersOf(exchange.query, layer.parameters)]).toString();
    const folder = `${exchange.baseUrl}/tiles/${encodeURIComponent(layer.name)}`;
    const [format] = layer.formats;
    const tiles = `${folder}/{z}/{x}/{y}.${format.extensions[0]}${query === '' ? '' : `?${query}`}`;
    const vectorLayers = format.kind === 'opaque' ? await vectorLayersOf(bound, exchange.signal) : null;
    return jsonAnswer(documentOf(layer, subset, tiles, vectorLayers), [
      'Cache-Control',
      isOpen(layer) ? 'no-cache' : 'private, no-cache',
    ]);
  };
}

/** A source that cannot be read now is no reason to keep the address of its tiles back. */
async function vectorLayersOf(bound: BoundLayer, signal: AbortSignal): Promise<readonly unknown[]> {
  try {
    return (await bound.source().vectorLayers?.(signal)) ?? [];
  } catch (error) {
    if (!isTilewardenError(error)) throw error;
    return [];
  }
}

function documentOf(
  layer: Layer,
  subset: GridSubset,
  tiles: string,
  vectorLayers: readonly unknown[] | null,
): object {
  return {
    tilejson: '3.0.0',
    name: layer.title === '' ? layer.name : layer.title,
    ...(layer.description === '' ? {} : { description: layer.description }),
    scheme: 'xyz',
    tiles: [tiles],
    minzoom: subset.zoomStart,
    maxzoom: subset.zoomStop,
    bounds: degreesOfMercator(subset.extent),
    // TileJSON 3.0.0, 3.3: required for vector tiles; which layers are inside them only their source knows.
    ...(vectorLayers ? { vector_layers: vectorLayers } : {}),
  };
}
