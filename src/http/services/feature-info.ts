import { isUtf8 } from 'node:buffer';
import type { MapPicture } from '../../domain/bounds.ts';
import { shortened } from '../../domain/errors.ts';
import { boundsOfTile, isWithinScales } from '../../domain/grid-set.ts';
import type { GridSubset } from '../../domain/grid-subset.ts';
import { joinFeatureInfo } from '../../domain/join-feature-info.ts';
import type { Layer } from '../../domain/layer.ts';
import { type FeatureInfo, infoPlace } from '../../pipeline/feature-info.ts';
import { cacheControlOf, isOpenTo, requireVisible } from '../auth/layer-visibility.ts';
import type { Context } from '../context.ts';
import { contentResponse, type Response } from '../response.ts';
import type { Kvp } from './kvp.ts';
import type { Operation, Services } from './open-services.ts';
import { badValue, required, type ServiceCode, ServiceException } from './service-exception.ts';
import {
  gridSetOfMap,
  mapFormat,
  mapTileSet,
  requestedCrs,
  requestedMapLayers,
  requestedPlace,
  type StyledLayer,
  subsetFor,
  versionOf,
  type WmsVersion,
  wholeNumber,
  withSubsets,
} from './wms/map-request.ts';
import { integer, requestedIndex, requestedLayer, wmtsTileSet } from './wmts/get-tile.ts';

const MAX_FEATURES = 100;

/** GetFeatureInfo of WMS, from the sources of the layers, joined in the order of QUERY_LAYERS. */
export const wmsFeatureInfo: Operation = async (context, kvp, services) => {
  const version = versionOf(kvp);
  const crs = requestedCrs(kvp, version);
  const queried = await layersQueried(context, kvp, services);
  const infoFormat = requestedInfoFormat(queried, kvp);
  const layers = withSubsets(queried, crs, version);
  const place = requestedPlace(kvp, layers, crs, version);
  const { i, j } = queryPoint(kvp, place, version);
  await services.areaLimit.requirePixel(context, () => gridSetOfMap(layers, crs), place, i, j);
  const request = {
    ...place,
    i,
    j,
    infoFormat,
    featureCount: featureCount(kvp),
    signal: context.signal,
  };
  const found = await Promise.all(
    layers.map(async (layer) => {
      const { bound } = layer;
      const subset = subsetFor(layer, place, crs);
      const format = kvp('FORMAT') === null ? bound.layer.formats[0] : mapFormat([bound], kvp);
      const tiles = mapTileSet(layer, subset, format, kvp);
      const here = layer.isWarped
        ? infoPlace(request, { srs: crs.code, projection: null }, subset.gridSet)
        : request;
      if (!here || !isShownAt(subset, here)) return [];
      return [(await services.queries.askFeatureInfo(tiles, here)).bytes];
    }),
  );
  const bytes = joinFeatureInfo(infoFormat, found.flat());
  return infoResponse(
    { bytes, mediaType: infoFormat },
    queried.map(({ bound }) => bound.layer),
  );
};

/** The layers of QUERY_LAYERS, which must be in LAYERS too. A group means its queryable layers. */
async function layersQueried(
  context: Context,
  kvp: Kvp,
  services: Services,
): Promise<readonly [StyledLayer, ...StyledLayer[]]> {
  const shown = await requestedMapLayers(context, services, kvp);
  const queried = await requestedMapLayers(context, services, kvp, 'QUERY_LAYERS');
  const eachOnce = queried.filter(
    ({ bound }, at) => queried.findIndex((other) => other.bound === bound) === at,
  );
  const styled = eachOnce.map(({ bound, isMember }) => {
    const drawn = shown.find((layer) => layer.bound === bound);
    if (drawn) return { ...drawn, isMember };
    throw new ServiceException(
      'LayerNotDefined',
      'QUERY_LAYERS',
      `Layer ${bound.layer.name} is not among LAYERS.`,
    );
  });
  const [first, ...others] = styled.filter(
    ({ bound, isMember }) => !isMember || bound.layer.infoFormats.length > 0,
  );
  const unfit = first
    ? [first, ...others].find(({ bound }) => bound.layer.infoFormats.length === 0)
    : styled[0];
  if (first && !unfit) return [first, ...others];
  throw new ServiceException(
    'LayerNotQueryable',
    'QUERY_LAYERS',
    `Layer ${unfit?.bound.layer.name} does not support GetFeatureInfo.`,
  );
}

/** A format that all layers have; by default the first of these. */
function requestedInfoFormat([first, ...others]: readonly [StyledLayer, ...StyledLayer[]], kvp: Kvp): string {
  const common = first.bound.layer.infoFormats.filter((format) =>
    others.every(({ bound }) => bound.layer.infoFormats.includes(format)),
  );
  const mediaType = kvp('INFO_FORMAT') ?? common[0] ?? '';
  for (const { bound } of [first, ...others]) {
    checkInfoFormat(bound.layer, mediaType, 'InvalidFormat', 'INFO_FORMAT');
  }
  return mediaType;
}

function isShownAt({ scales, gridSet }: GridSubset, { bounds, width, height }: MapPicture): boolean {
  const pixel = Math.min((bounds.maxX - bounds.minX) / width, (bounds.maxY - bounds.minY) / height);
  return !scales || isWithinScales(scales, (pixel * gridSet.metersPerUnit) / gridSet.pixelSize);
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

/** I and J in 1.3.0, X and Y in 1.1.1; either version accepts both. */
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
export const wmtsFeatureInfo: Operation = async (context, kvp, { catalog, areaLimit, queries }) => {
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
  await areaLimit.requirePixel(context, () => gridSet, place, i, j);
  const info = await queries.askFeatureInfo(tiles, {
    ...place,
    i,
    j,
    infoFormat,
    featureCount: WMTS_FEATURES,
    signal: context.signal,
  });
  return infoResponse(info, [layer]);
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

/** Clients request it again each time (`no-cache`): it may change. */
function infoResponse({ bytes, mediaType }: FeatureInfo, layers: readonly Layer[]): Response {
  const charset = isUtf8(bytes) ? '; charset=utf-8' : '';
  const headers = ['Content-Security-Policy', POLICY, ...cacheControlOf(...layers)];
  return contentResponse(`${mediaType}${charset}`, bytes, headers);
}
