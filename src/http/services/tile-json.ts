import type { Catalog } from '../../catalog/catalog.ts';
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
    const { layer } = boundLayer(catalog, exchange.param('layer'));
    await refuseStrangers(exchange, layer);
    const subset = webMercatorSubset(layer);
    const query = new URLSearchParams([...parametersOf(exchange.query, layer.parameters)]).toString();
    const folder = `${exchange.baseUrl}/tiles/${encodeURIComponent(layer.name)}`;
    const [format] = layer.formats;
    const tiles = `${folder}/{z}/{x}/{y}.${format.extensions[0]}${query === '' ? '' : `?${query}`}`;
    return jsonAnswer(documentOf(layer, subset, tiles), [
      'Cache-Control',
      isOpen(layer) ? 'no-cache' : 'private, no-cache',
    ]);
  };
}

function documentOf(layer: Layer, subset: GridSubset, tiles: string): object {
  const opaque = layer.formats[0].kind === 'opaque';
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
    ...(opaque ? { vector_layers: [] } : {}),
  };
}
