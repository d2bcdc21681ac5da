import type { BoundLayer } from '../../catalog/catalog.ts';
import { coordsOf } from '../../domain/bounds.ts';
import type { Format } from '../../domain/format.ts';
import { type GridSubset, middleTileOf, RETINA_SUFFIX } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { writeJson } from '../../lib/write-json.ts';
import { cacheControlOf } from '../auth/layer-visibility.ts';
import type { Context } from '../context.ts';
import { jsonResponse, type Response } from '../response.ts';
import { type Handler, openRoute, type Route } from '../route.ts';
import { parametersOf } from './kvp.ts';
import { geographicBoxOf, isStyleFilter, titleOf, webMercatorSubset } from './layer-facts.ts';
import type { Operation, Services } from './open-services.ts';
import { formatNamed, layerFor } from './tiles.ts';

const STYLES = 'STYLES';
const WORLD = [-180, -90, 180, 90] as const;

const GEOWEBCACHE = '/service/wmts/rest/{layer}';
const PATHS = [
  '/tiles/{layer}.json',
  `${GEOWEBCACHE}/tilejson/{extension}`,
  `${GEOWEBCACHE}//tilejson/{extension}`,
  `${GEOWEBCACHE}/{style}/tilejson/{extension}`,
];

/** TileJSON 3.0.0, which supports web mercator only; also where GeoWebCache has it. */
export function tileJsonRoutes(services: Services): readonly Route[] {
  const handler: Handler = async (context) => {
    const bound = await layerFor(context, services.catalog, context.param('layer'));
    const { extension, style = null } = context.params;
    const format = extension === undefined ? bound.layer.formats[0] : formatNamed(bound.layer, extension);
    return answerTileJson(context, services, bound, format, style);
  };
  return PATHS.map((path) => openRoute(path, handler));
}

/** `REQUEST=gettilejson&LAYER=…[&STYLE=…]` of a WMTS. */
export const getTileJson: Operation = async (context, kvp, services) => {
  const bound = await layerFor(context, services.catalog, kvp('LAYER') ?? '');
  return answerTileJson(context, services, bound, bound.layer.formats[0], kvp('STYLE'));
};

async function answerTileJson(
  context: Context,
  { queries }: Services,
  bound: BoundLayer,
  format: Format,
  style: string | null,
): Promise<Response> {
  const { layer } = bound;
  const inQuery = parametersOf(context.query, layer.parameters);
  const styled = style !== null && layer.parameters.some(isStyleFilter);
  const parameters = new Map(styled ? [...inQuery, [STYLES, style]] : inQuery);
  const subset = webMercatorSubset(layer);
  const vectorLayers = format.kind === 'opaque' ? await queries.vectorLayersOf(bound, context.signal) : null;
  const query = new URLSearchParams([...parameters]).toString();
  const folder = `${context.baseUrl}/tiles/${encodeURIComponent(layer.name)}`;
  const pair = context.key?.pairFor([layer]) ?? '';
  const pairs = [query, pair].filter((each) => each !== '').join('&');
  const ending = `.${format.extensions[0]}${pairs === '' ? '' : `?${pairs}`}`;
  const dense = layer.retinaSubsets.length > 0 && format.kind === 'raster';
  return jsonResponse(
    {
      ...documentOf(layer, subset),
      tiles: [`${folder}/{z}/{x}/{y}${ending}`],
      // Not in the standard, which allows further keys: for clients that choose by the screen.
      ...(dense && { tiles2x: [`${folder}/{z}/{x}/{y}${RETINA_SUFFIX}${ending}`] }),
      // TileJSON 3.0.0, 3.3: required for vector tiles; only the source has this list.
      ...(vectorLayers && { vector_layers: vectorLayers }),
    },
    cacheControlOf(layer),
  );
}

function documentOf(layer: Layer, subset: GridSubset): object {
  const bounds = geographicBoxOf(subset) ?? WORLD;
  const [west, south, east, north] = bounds;
  return {
    tilejson: '3.0.0',
    name: titleOf(layer),
    ...(layer.description !== '' && { description: layer.description }),
    ...(layer.attribution !== '' && { attribution: layer.attribution }),
    scheme: 'xyz',
    minzoom: subset.zoomStart,
    maxzoom: subset.zoomStop,
    bounds,
    center: [middle(west, east), middle(south, north), middleTileOf(subset).z],
  };
}

function middle(a: number, b: number): number {
  return Math.round(((a + b) / 2) * 1e8) / 1e8;
}

/**
 * `/tiles.json`: everything that a map needs to show any layer. With `?layer=…` only one, and with `?brief=true` only the
 * fields to choose one: thousands of layers take megabytes otherwise.
 */
export function createLayerList({ catalog, documentOf }: Services): Handler {
  const contentType = 'application/json';
  const whole = documentOf({ write: (layers) => writeList(layers, describeLayer), contentType });
  const brief = documentOf({ write: (layers) => writeList(layers, describeBriefly), contentType });
  return async (context) => {
    const query = new URLSearchParams(context.query);
    const name = query.get('layer');
    if (name === null) return (query.get('brief') === 'true' ? brief : whole).aboutAll(context);
    return whole.about(context, [(await layerFor(context, catalog, name)).layer]);
  };
}

function* writeList(layers: readonly Layer[], describe: (layer: Layer) => object): Iterable<string> {
  yield '{"layers":[';
  for (const [index, layer] of layers.entries()) {
    yield `${index === 0 ? '' : ','}${writeJson(describe(layer))}`;
  }
  yield ']}';
}

function describeBriefly({ name, title, formats }: Layer): object {
  return { name, title, formats: formats.map(({ mediaType }) => mediaType) };
}

function describeLayer(layer: Layer): object {
  return {
    name: layer.name,
    title: layer.title,
    attribution: layer.attribution,
    retina: layer.retinaSubsets.length > 0,
    ...layerOffer(layer),
  };
}

export function layerOffer(layer: Layer) {
  return {
    gridSets: layer.gridSubsets.map(describeSubset),
    formats: layer.formats.map((format) => format.mediaType),
    extensions: layer.formats.map((format) => format.extensions[0]),
    parameters: layer.parameters.map(({ name, defaultValue, values }) => ({
      name,
      default: defaultValue,
      values,
    })),
  };
}

function describeSubset({ gridSet, extent, zoomStart, zoomStop }: GridSubset) {
  return {
    name: gridSet.name,
    srs: `EPSG:${gridSet.srs}`,
    extent: coordsOf(extent),
    zoomStart,
    zoomStop,
    resolutions: gridSet.levels.map((level) => level.resolution),
    tileSize: [gridSet.tileWidth, gridSet.tileHeight],
    origins: gridSet.levels.map((level) => [gridSet.extent.minX, level.top]),
  };
}
