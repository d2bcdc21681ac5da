import type { MapPicture } from '../../../domain/bounds.ts';
import { isTilewardenError } from '../../../domain/errors.ts';
import { contentTypeOf, type Format } from '../../../domain/format.ts';
import { boundsOfTile } from '../../../domain/grid-set.ts';
import { type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import { clientSecondsAt } from '../../../domain/layer.ts';
import type { ComposedMap } from '../../../pipeline/map-composer.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { areasOf, limited } from '../../auth/area-limit.ts';
import { isOpenToAll } from '../../auth/layer-visibility.ts';
import type { Context } from '../../context.ts';
import { headerText, lifetimeHeaders, noteHeaders } from '../../hits/hits.ts';
import { validated } from '../../negotiate.ts';
import { type Headers, pairs, type Response } from '../../response.ts';
import { type Kvp, withBypass } from '../kvp.ts';
import type { Operation, Services } from '../open-services.ts';
import { badValue, ServiceException } from '../service-exception.ts';
import {
  backgroundColour,
  gridSetOfMap,
  isTrue,
  type MapCrs,
  type MapLayer,
  mapFormat,
  mapTileSet,
  requestedCrs,
  requestedMapLayers,
  requestedPlace,
  subsetFor,
  versionOf,
  withSubsets,
} from './map-request.ts';

/** In tiles. GeoWebCache's tolerance, for requests with TILED and layers without full WMS. */
const TOLERANCE_FOR_TILES = 0.1;
/** Half a pixel of 256: where any box is allowed, a tile must match exactly. */
const TOLERANCE_FOR_MAPS = 0.002;
const NO_TILE_MESSAGE = 'There is no tile: the box lies outside what the layer offers.';

export interface MapRequest {
  readonly kvp: Kvp;
  readonly layers: readonly [MapLayer, ...MapLayer[]];
  readonly crs: MapCrs;
  readonly place: MapPicture;
  readonly format: Format;
  readonly tiled: boolean;
}

/**
 * A box that is a tile is answered with that tile. Maps in other formats or of several layers are composed of tiles; so
 * are other boxes, if the layers allow it.
 */
export const getMap: Operation = async (context, kvp, services) => {
  const { answerTile } = services;
  const map = await readMap(services, context, kvp);
  const matches = map.layers.map((layer) => tileOf(map, layer));
  const matched = map.layers.length === 1 ? (matches[0] ?? null) : null;
  const blank = matched !== null && isBlank(map, matched);
  if (matched && !blank && isStored(map)) {
    const tiles = mapTileSet(map.layers[0], matched.subset, map.format, kvp);
    return answerTile(context, withBypass(kvp, tiles), matched.index);
  }
  if (!blank) checkComposable(map, matches);
  return answerComposed(context, services, map, { matches, blank });
};

/** The map, composed of tiles of its layers. `blank`: they have nothing there. */
export async function answerComposed(
  context: Context,
  { composer, areaLimit, clock }: Services,
  map: MapRequest,
  { matches, blank }: { readonly matches: Matches; readonly blank: boolean },
): Promise<Response> {
  const { kvp, crs, format } = map;
  const layers = composedSets(map, matches);
  const place = drawnPlace(map, matches);
  const mask = await areaLimit.maskFor(context, () => gridSetOfMap(map.layers, crs), place);
  const isClear = format.alpha && (blank || isTrue(kvp, 'TRANSPARENT'));
  const drawn = { layers, ...place, crs: { srs: crs.code, projection: null }, ...(mask && { mask }) };
  const picture = await composer
    .compose({
      ...(blank ? { layers: [], ...map.place } : drawn),
      format,
      background: isClear ? null : backgroundColour(kvp),
      signal: context.signal,
    })
    .catch(blameBox);
  const message = blank ? ['geowebcache-message', NO_TILE_MESSAGE] : layers.flatMap(noteHeaders);
  const more = [...message, ...cacheControl(context, map, picture, clock.now())];
  if (areasOf(context) === null) return mapResponse(context, map, picture, more);
  return limited(mapResponse(context, map, { ...picture, createdAt: null }, more));
}

async function readMap(services: Services, context: Context, kvp: Kvp): Promise<MapRequest> {
  const version = versionOf(kvp);
  const requested = await requestedMapLayers(context, services, kvp);
  const format = mapFormat(
    requested.map(({ bound }) => bound),
    kvp,
  );
  const crs = requestedCrs(kvp, version);
  const [first, ...others] = withSubsets(requested, crs, version);
  if (!first) throw new ServiceException('MissingParameterValue', 'LAYERS', 'No layer is named.');
  const place = requestedPlace(kvp, [first, ...others], crs, version);
  const tiled = isTrue(kvp, 'TILED');
  isTrue(kvp, 'TRANSPARENT');
  return { kvp, layers: [first, ...others], crs, place, format, tiled };
}

/** Null: not a tile, or one on a background colour. */
function tileOf(
  { kvp, place, tiled }: MapRequest,
  { bound, subsets, isWarped }: MapLayer,
): MatchedTile | null {
  if (isWarped) return null;
  const anyBox = bound.layer.fullWms && !tiled;
  if (anyBox && kvp('BGCOLOR') !== null) return null;
  return matchTile(subsets, place, anyBox ? TOLERANCE_FOR_MAPS : TOLERANCE_FOR_TILES);
}

function isStored({ layers, format }: MapRequest): boolean {
  return layers[0].bound.layer.formats.includes(format);
}

/** Like in GeoWebCache a map outside all layers is empty (WMS 1.3.0, 7.3.3.6). */
function isBlank({ format, layers }: MapRequest, { offered }: MatchedTile): boolean {
  return !offered && format.kind === 'raster' && layers[0].bound.layer.outside !== 'notFound';
}

function checkComposable({ layers, tiled, format, place }: MapRequest, matches: Matches): void {
  if (format.kind !== 'raster') {
    throw new ServiceException('InvalidFormat', 'FORMAT', `${format.mediaType} is available as tiles only.`);
  }
  const offGrid = layers.find(({ bound }, at) => !matches[at] && (tiled || !bound.layer.fullWms));
  if (offGrid) throw notOnGrid(offGrid, place);
}

function notOnGrid({ bound, subsets }: MapLayer, { width, height }: MapPicture): ServiceException {
  const { gridSet } = subsets[0];
  const { tileWidth, tileHeight } = gridSet;
  if (width !== tileWidth || height !== tileHeight) {
    const locator = width === tileWidth ? 'HEIGHT' : 'WIDTH';
    return badValue(
      locator,
      `Layer ${bound.layer.name} is served as tiles of ${tileWidth}×${tileHeight} pixels, not ${width}×${height}.`,
    );
  }
  const names = subsets.map((subset) => subset.gridSet.name).join(', ');
  return badValue(
    'BBOX',
    `Layer ${bound.layer.name} is served as tiles, and the box is not a tile of the grid ${names}; see GetCapabilities with TILED=true.`,
  );
}

/** For each layer, the tile that the map is; null: it is not a tile. */
type Matches = readonly (MatchedTile | null)[];

function composedSets(
  { kvp, layers, format, place, crs }: MapRequest,
  matches: Matches,
): readonly ResolvedTileSet[] {
  return layers.map((layer, at) =>
    mapTileSet(layer, matches[at]?.subset ?? subsetFor(layer, place, crs), format, kvp),
  );
}

function drawnPlace({ place }: MapRequest, matches: Matches): MapPicture {
  const tile = matches.find((match) => match !== null);
  if (!tile) return place;
  return { ...place, bounds: boundsOfTile(tile.subset.gridSet, tile.index.z, tile.index.x, tile.index.y) };
}

/** Width and height have been checked; the map may still need too many tiles, or too many layers for its size. */
function blameBox(error: unknown): never {
  if (!isTilewardenError(error, 'request-invalid')) throw error;
  throw badValue('BBOX', error.message);
}

function mapResponse(context: Context, map: MapRequest, picture: ComposedMap, more: Headers): Response {
  const etag = `"${picture.digest}"`;
  const modified =
    picture.createdAt === null ? [] : ['Last-Modified', new Date(picture.createdAt).toUTCString()];
  const type = contentTypeOf(map.format, picture.bytes);
  const headers = [
    ...modified,
    'X-Cache',
    picture.outcome ?? 'BYPASS',
    ...(picture.warning === null ? [] : ['Warning', picture.warning]),
    ...more,
    ...placeHeaders(map, picture),
  ];
  const { createdAt, bytes: body } = picture;
  return validated(context, etag, headers, {
    body,
    type,
    ...(createdAt !== null && { modifiedAt: createdAt }),
  });
}

/** A composed map lasts as long as the shortest-lived of its layers. */
function cacheControl(
  { audience }: Context,
  { layers }: MapRequest,
  picture: ComposedMap,
  now: number,
): Headers {
  const { zoom, standIn, warning } = picture;
  const outcome = warning === null ? picture.outcome : 'STALE';
  const ages = layers.map(({ bound }) => clientSecondsAt(bound.layer, zoom ?? 0));
  const isPublic = audience === 'all' && layers.every(({ bound }) => isOpenToAll(bound.layer));
  return lifetimeHeaders({ seconds: Math.min(...ages), outcome, isPublic, standIn }, now);
}

/** `WMS` and `OTHER` are GeoWebCache's values for maps that are not tiles. */
function placeHeaders({ layers, place, crs }: MapRequest, { outcome }: ComposedMap): Headers {
  const [{ subsets, isWarped }] = layers;
  const { gridSet } = subsets[0];
  const { minX, minY, maxX, maxY } = place.bounds;
  return pairs({
    'geowebcache-cache-result': outcome === null ? 'OTHER' : 'WMS',
    'geowebcache-gridset': headerText(gridSet.name),
    'geowebcache-crs': `EPSG:${isWarped ? crs.code : gridSet.srs}`,
    'geowebcache-tile-bounds': `${minX},${minY},${maxX},${maxY}`,
  });
}

type MatchedTile = ReturnType<typeof matchesIn>[number];

/** The tile closest to a box, if it is off by at most `tolerance` tiles. */
function matchTile(subsets: readonly GridSubset[], place: MapPicture, tolerance: number): MatchedTile | null {
  const matches = subsets
    .flatMap((subset) => matchesIn(subset, place))
    .filter(({ error }) => error <= tolerance);
  const [best] = matches.sort((a, b) => Number(b.offered) - Number(a.offered) || a.error - b.error);
  return best ?? null;
}

/** Their indexes may be outside the layer, and outside the grid; errors are in tiles. */
function matchesIn(subset: GridSubset, { bounds, width, height }: MapPicture) {
  const { gridSet } = subset;
  if (width !== gridSet.tileWidth || height !== gridSet.tileHeight) return [];
  return gridSet.levels.map((level, z) => {
    const across = (bounds.maxX - bounds.minX) / level.tileSpanX;
    const down = (bounds.maxY - bounds.minY) / level.tileSpanY;
    const column = (bounds.minX - gridSet.extent.minX) / level.tileSpanX;
    const row = (level.top - bounds.maxY) / level.tileSpanY;
    const [x, y] = [Math.round(column), Math.round(row)];
    const error = Math.max(Math.abs(across - 1), Math.abs(down - 1), Math.abs(column - x), Math.abs(row - y));
    return { subset, index: { z, x, y }, offered: subsetContains(subset, z, x, y), error };
  });
}
