import type { BoundLayer } from '../../catalog/bound-layer.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { isTilewardenError } from '../../domain/errors.ts';
import type { Format } from '../../domain/format.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { RETINA_SUFFIX } from '../../domain/retina.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { isOpen, refuseStrangers } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';
import type { Handler, Route } from '../route.ts';
import type { Kvp } from './kvp.ts';
import { parametersOf } from './query-parameters.ts';
import { formatNamed } from './tile-address.ts';
import { boundLayer } from './tiles.ts';
import { degreesOfMercator, webMercatorSubset } from './web-mercator.ts';

const STYLES = 'STYLES';

/** `/tiles/{layer}.json`: TileJSON 3.0.0, which knows web mercator only. */
export function createTileJson(catalog: Pick<Catalog, 'layer'>): Handler {
  return async (exchange) => {
    const bound = boundLayer(catalog, exchange.param('layer'));
    await refuseStrangers(exchange, bound.layer);
    const parameters = parametersOf(exchange.query, bound.layer.parameters);
    return answerTileJson(exchange, bound, bound.layer.formats[0], parameters);
  };
}

/** The same document where GeoWebCache has it: `/service/wmts/rest/{layer}[/{style}]/tilejson/{extension}`. */
export function wmtsTileJsonRoutes(catalog: Pick<Catalog, 'layer'>): readonly Route[] {
  const handler: Handler = async (exchange) => {
    const bound = boundLayer(catalog, exchange.param('layer'));
    const { layer } = bound;
    await refuseStrangers(exchange, layer);
    const format = formatNamed(layer, exchange.param('extension'));
    const { style = null } = exchange.params;
    const parameters = withStyle(layer, parametersOf(exchange.query, layer.parameters), style);
    return answerTileJson(exchange, bound, format, parameters);
  };
  const folder = '/service/wmts/rest/{layer}';
  const paths = ['/tilejson/{extension}', '//tilejson/{extension}', '/{style}/tilejson/{extension}'];
  return paths.map((path) => ({
    method: 'GET',
    path: `${folder}${path}`,
    role: 'public',
    sharing: 'anyone',
    handler,
  }));
}

/** `REQUEST=gettilejson&LAYER=…[&STYLE=…]` of a WMTS. */
export function createGetTileJson(catalog: Pick<Catalog, 'layer'>) {
  return async (exchange: Exchange, asked: Kvp): Promise<Answer> => {
    const bound = boundLayer(catalog, asked('LAYER') ?? '');
    const { layer } = bound;
    await refuseStrangers(exchange, layer);
    const parameters = withStyle(layer, parametersOf(exchange.query, layer.parameters), asked('STYLE'));
    return answerTileJson(exchange, bound, layer.formats[0], parameters);
  };
}

function withStyle(
  layer: Layer,
  parameters: ReadonlyMap<string, string>,
  style: string | null,
): ReadonlyMap<string, string> {
  const styled = layer.parameters.some(({ name }) => name === STYLES);
  return style !== null && styled ? new Map([...parameters, [STYLES, style]]) : parameters;
}

async function answerTileJson(
  exchange: Exchange,
  bound: BoundLayer,
  format: Format,
  parameters: ReadonlyMap<string, string>,
): Promise<Answer> {
  const { layer } = bound;
  const subset = webMercatorSubset(layer);
  const vectorLayers = format.kind === 'opaque' ? await vectorLayersOf(bound, exchange.signal) : null;
  const query = new URLSearchParams([...parameters]).toString();
  const folder = `${exchange.baseUrl}/tiles/${encodeURIComponent(layer.name)}`;
  const ending = `.${format.extensions[0]}${query === '' ? '' : `?${query}`}`;
  const dense = layer.retinaSubsets.length > 0 && format.kind === 'raster';
  return jsonAnswer(
    {
      ...documentOf(layer, subset),
      tiles: [`${folder}/{z}/{x}/{y}${ending}`],
      // Not of the standard, which lets us add keys of our own: for clients that choose by the screen.
      ...(dense && { tiles2x: [`${folder}/{z}/{x}/{y}${RETINA_SUFFIX}${ending}`] }),
      // TileJSON 3.0.0, 3.3: required for vector tiles; which layers are inside them only their source knows.
      ...(vectorLayers && { vector_layers: vectorLayers }),
    },
    ['Cache-Control', isOpen(layer) ? 'no-cache' : 'private, no-cache'],
  );
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

function documentOf(layer: Layer, subset: GridSubset): object {
  const bounds = degreesOfMercator(subset.extent);
  return {
    tilejson: '3.0.0',
    name: layer.title === '' ? layer.name : layer.title,
    ...(layer.description !== '' && { description: layer.description }),
    ...(layer.attribution !== '' && { attribution: layer.attribution }),
    scheme: 'xyz',
    minzoom: subset.zoomStart,
    maxzoom: subset.zoomStop,
    bounds,
    center: centerOf(bounds, subset.zoomStart),
  };
}

function centerOf([west, south, east, north]: readonly number[], zoom: number): readonly number[] {
  return [middle(west, east), middle(south, north), zoom];
}

function middle(a = 0, b = 0): number {
  return Math.round(((a + b) / 2) * 1e8) / 1e8;
}
