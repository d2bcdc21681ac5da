import { isUtf8 } from 'node:buffer';
import type { BoundLayer, Catalog } from '../../catalog/catalog.ts';
import type { MapPicture } from '../../domain/bounds.ts';
import { shortened } from '../../domain/errors.ts';
import { boundsOfTile } from '../../domain/grid-set.ts';
import type { Layer } from '../../domain/layer.ts';
import { askFeatureInfo, type FeatureInfo } from '../../pipeline/feature-info.ts';
import { cacheControlOf, isOpenTo, requireVisible } from '../auth/layer-visibility.ts';
import type { Context } from '../context.ts';
import { contentResponse, type Response } from '../response.ts';
import type { Kvp } from './kvp.ts';
import type { Operation } from './open-services.ts';
import { badValue, required, type ServiceCode, ServiceException } from './service-exception.ts';
import {
  type MapLayer,
  requestedCrs,
  requestedFormat,
  requestedLayers,
  requestedPlace,
  requestedStyles,
  tileSetOf,
  versionOf,
  type WmsVersion,
  wholeNumber,
  withSubsets,
} from './wms/map-request.ts';
import { integer, requestedIndex, requestedLayer, wmtsTileSet } from './wmts/get-tile.ts';

const MAX_FEATURES = 100;

/** Passed to the layer's source, one layer at a time. */
export const wmsFeatureInfo: Operation = async (context, kvp, { catalog, areaLimit }) => {
  const version = versionOf(kvp);
  const layer = await layerQueried(catalog, context, kvp, version);
  const { bound, subsets } = layer;
  const mediaType = kvp('INFO_FORMAT') ?? bound.layer.infoFormats[0] ?? '';
  const infoFormat = checkInfoFormat(bound.layer, mediaType, 'InvalidFormat', 'INFO_FORMAT');
  const place = requestedPlace(kvp, subsets[0], requestedCrs(kvp, version), version);
  const format = kvp('FORMAT') === null ? bound.layer.formats[0] : requestedFormat([bound], kvp);
  const { i, j } = queryPoint(kvp, place, version);
  await areaLimit.requirePixel(context, subsets[0].gridSet, place, i, j);
  const info = await askFeatureInfo(tileSetOf(layer, subsets[0], format, kvp), {
    ...place,
    i,
    j,
    infoFormat,
    featureCount: featureCount(kvp),
    signal: context.signal,
  });
  return infoResponse(info, bound.layer);
};

async function layerQueried(
  catalog: Pick<Catalog, 'layer'>,
  context: Context,
  kvp: Kvp,
  version: WmsVersion,
): Promise<MapLayer> {
  const shown = requestedLayers(catalog, kvp, 'LAYERS');
  const queried = requestedLayers(catalog, kvp, 'QUERY_LAYERS');
  for (const { layer } of [...shown, ...queried]) {
    if (!isOpenTo(context, layer)) await requireVisible(context, layer);
  }
  const bound = queryable(shown, queried);
  const style = requestedStyles(kvp, shown.length)[shown.indexOf(bound)] ?? '';
  const [layer] = withSubsets([bound], [style], requestedCrs(kvp, version), version);
  if (layer) return layer;
  throw new ServiceException('LayerNotDefined', 'QUERY_LAYERS', 'No layer is named.');
}

function queryable(shown: readonly BoundLayer[], queried: readonly BoundLayer[]): BoundLayer {
  const [bound, ...others] = queried;
  if (!bound || others.length > 0) {
    throw badValue('QUERY_LAYERS', 'Only one layer can be queried at a time.');
  }
  const { name, infoFormats } = bound.layer;
  if (!shown.includes(bound)) {
    throw new ServiceException('LayerNotDefined', 'QUERY_LAYERS', `Layer ${name} is not among LAYERS.`);
  }
  if (infoFormats.length > 0) return bound;
  throw new ServiceException(
    'LayerNotQueryable',
    'QUERY_LAYERS',
    `Layer ${name} does not support GetFeatureInfo.`,
  );
}

function checkInfoFormat(
  { name, infoFormats }: Layer,
  format: string,
  code: ServiceCode,
  locator: string,
): string {
  if (infoFormats.includes(format)) return format;
  const message = `Layer ${name} has no info format ${shortened(format)}; it has ${infoFormats.join(', ')}.`;
  throw new ServiceException(code, locator, message);
}

function checkPixel(value: number, limit: number, code: ServiceCode, locator: string): number {
  if (value >= 0 && value < limit) return value;
  throw new ServiceException(code, locator, `${locator} must lie between 0 and ${limit - 1}, not ${value}.`);
}

/** X and Y in 1.1.1; both names are accepted in either version. */
function queryPoint(kvp: Kvp, { width, height }: MapPicture, version: WmsVersion) {
  const [usual, other] = version === '1.3.0' ? ['IJ', 'XY'] : ['XY', 'IJ'];
  const coordinate = (axis: 0 | 1, limit: number) => {
    const [name = '', second = ''] = [usual?.[axis], other?.[axis]];
    const used = kvp(name) === null && kvp(second) !== null ? second : name;
    return checkPixel(wholeNumber(kvp, used, 'InvalidPoint'), limit, 'InvalidPoint', used);
  };
  return { i: coordinate(0, width), j: coordinate(1, height) };
}

function featureCount(kvp: Kvp): number {
  if (kvp('FEATURE_COUNT') === null) return 1;
  const count = wholeNumber(kvp, 'FEATURE_COUNT');
  if (count >= 1 && count <= MAX_FEATURES) return count;
  throw badValue('FEATURE_COUNT', `FEATURE_COUNT must lie between 1 and ${MAX_FEATURES}, not ${count}.`);
}

const WMTS_FEATURES = 10;

/** OGC 07-057r7, 7.3: the features at a pixel of a tile, from the layer's source. */
export const wmtsFeatureInfo: Operation = async (context, kvp, { catalog, areaLimit }) => {
  const bound = requestedLayer(catalog, kvp);
  const { layer } = bound;
  if (!isOpenTo(context, layer)) await requireVisible(context, layer);
  const infoFormat = wmtsInfoFormat(layer, kvp);
  const format = kvp('FORMAT') === null ? layer.formats[0].mediaType : null;
  const tiles = wmtsTileSet(bound, kvp, format);
  const { gridSet } = tiles.subset;
  const { z, x, y } = requestedIndex(tiles.subset, kvp);
  const { tileWidth: width, tileHeight: height } = gridSet;
  const place = { bounds: boundsOfTile(gridSet, z, x, y), width, height };
  const i = checkPixel(integer(kvp, 'I'), width, 'PointIJOutOfRange', 'I');
  const j = checkPixel(integer(kvp, 'J'), height, 'PointIJOutOfRange', 'J');
  await areaLimit.requirePixel(context, gridSet, place, i, j);
  const info = await askFeatureInfo(tiles, {
    ...place,
    i,
    j,
    infoFormat,
    featureCount: WMTS_FEATURES,
    signal: context.signal,
  });
  return infoResponse(info, layer);
};

function wmtsInfoFormat(layer: Layer, kvp: Kvp): string {
  if (layer.infoFormats.length === 0) {
    const message = `Layer ${layer.name} does not support GetFeatureInfo.`;
    throw new ServiceException('OperationNotSupported', 'GetFeatureInfo', message);
  }
  return checkInfoFormat(layer, required(kvp, 'INFOFORMAT'), 'InvalidParameterValue', 'INFOFORMAT');
}

/** The content is another server's: a browser shows it under our address, but runs nothing. */
const POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** Not cached: it may change. */
function infoResponse({ bytes, mediaType }: FeatureInfo, layer: Layer): Response {
  const charset = isUtf8(bytes) ? '; charset=utf-8' : '';
  const headers = ['Content-Security-Policy', POLICY, ...cacheControlOf(layer)];
  return contentResponse(`${mediaType}${charset}`, bytes, headers);
}
