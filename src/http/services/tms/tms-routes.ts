import { invalid, shortened, TilewardenError } from '../../../domain/errors.ts';
import { levelOf } from '../../../domain/grid-set.ts';
import { coverageAt, type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import { isOpenTo, requireVisible } from '../../auth/layer-visibility.ts';
import { carryKey, hasKeyInAddress } from '../../auth/reader-key.ts';
import type { Context } from '../../context.ts';
import type { Html } from '../../pages/html.ts';
import { type Response, withHeaders } from '../../response.ts';
import { type Handler, openRoute, type Route } from '../../route.ts';
import { parametersOf, readKvp } from '../kvp.ts';
import { documentResponse } from '../layer-documents.ts';
import type { Services } from '../open-services.ts';
import { indexOf, splitRow } from '../tiles.ts';
import {
  hasOneOrigin,
  readTileMapName,
  servicesDocument,
  serviceWriter,
  TILE_IN_QUERY,
  tileMapDocument,
  tileMapNamed,
} from './tms-documents.ts';

const ROOT = '/service/tms';
const XML = 'text/xml; charset=utf-8';
const FILE_NAME = 'tms-getcapabilities.xml';

/** Tile Map Service 1.0.0, at GeoWebCache's addresses. Rows count from the bottom. */
export function tmsRoutes({ documentOf, ...deps }: Services): readonly Route[] {
  const service = describeService(documentOf);
  const [tileMap, tile] = [describeTileMap(deps.catalog), createTmsTile(deps)];
  const route = (path: string, handler: Handler) => openRoute(`${ROOT}${path}`, handler);
  return [
    route('', describeRoot),
    route('/', describeRoot),
    route('/{version}', service),
    route('/{version}/', service),
    route('/{version}/{map}', (context) => (namesTile(context) ? tile(context) : tileMap(context))),
    route('/{version}/{map}/{z}/{x}/{tile}', tile),
  ];
}

function describeRoot(context: Context): Response {
  return xmlResponse(context, servicesDocument(folderOf(context)), []);
}

function describeService(documentOf: Services['documentOf']): Handler {
  const document = documentOf({ write: serviceWriter(ROOT), contentType: XML, fileName: FILE_NAME });
  return async (context) => {
    checkVersion(context);
    return document.aboutAll(context);
  };
}

function describeTileMap(catalog: Services['catalog']): Handler {
  return async (context) => {
    checkVersion(context);
    const name = readTileMapName(catalog, context.param('map'));
    const { layer } = name.bound;
    await requireVisible(context, layer);
    const map = tileMapNamed(name, null);
    if (hasOneOrigin(map.subset)) {
      return xmlResponse(context, tileMapDocument(folderOf(context), map, hasKeyInAddress(context)), [layer]);
    }
    throw new TilewardenError(
      'grid-set-unknown',
      `TMS cannot describe ${map.subset.gridSet.name}, whose levels end at different edges; its tiles are served.`,
    );
  };
}

function createTmsTile({ catalog, answerTile, remembering }: Omit<Services, 'documentOf'>): Handler {
  return remembering(async (context) => {
    checkVersion(context);
    const place = placeIn(context);
    const { row, extension } = splitRow(place.tile);
    const name = readTileMapName(catalog, context.param('map'));
    const { bound } = name;
    if (!isOpenTo(context, bound.layer)) await requireVisible(context, bound.layer);
    const { subset, format } = tileMapNamed(name, extension);
    const tiles = resolveTileSet(bound, {
      gridSet: subset.gridSet.name,
      format: format.mediaType,
      parameters: parametersOf(context.query, bound.layer.parameters),
    });
    const flipped = isFlipped(context);
    return answerTile(context, tiles, tileIndex({ ...place, row, flipped }, bound.layer, subset));
  });
}

interface TmsPlace {
  readonly z: string;
  readonly x: string;
  readonly row: string;
  /** Rows count from the top. */
  readonly flipped: boolean;
}

function namesTile({ query }: Context): boolean {
  return query.includes(`${TILE_IN_QUERY}=`);
}

/** From the path, or from the query of a tile map's address. */
function placeIn(context: Context): { readonly z: string; readonly x: string; readonly tile: string } {
  if (!namesTile(context)) {
    return { z: context.param('z'), x: context.param('x'), tile: context.param('tile') };
  }
  const value = readKvp(context.query)(TILE_IN_QUERY.toUpperCase()) ?? '';
  const [, z, x, tile] = /^\/([^/]*)\/([^/]*)\/([^/]*)$/.exec(value) ?? [];
  if (z !== undefined && x !== undefined && tile !== undefined) return { z, x, tile };
  throw invalid(`${TILE_IN_QUERY} must be the place of a tile such as /3/2/1.png, not ${shortened(value)}.`);
}

function tileIndex(place: TmsPlace, layer: Layer, subset: GridSubset): TileIndex {
  const { flipped } = place;
  const z = indexOf('zoom', place.z);
  const x = indexOf('column', place.x);
  const row = indexOf('row', place.row);
  const last = levelOf(subset.gridSet, z).rows - 1;
  const y = flipped ? row : last - row;
  const isAllowed = flipped || layer.outside === 'transparent';
  if (isAllowed || subsetContains(subset, z, x, y)) return { z, x, y };
  throw outside(subset, { z, x, y: row }, last);
}

/** Names the allowed range in the caller's row order. */
function outside(subset: GridSubset, { z, x, y }: TileIndex, last: number): TilewardenError {
  const coverage = coverageAt(subset, z);
  const inside = coverage
    ? `columns are ${coverage.minX} to ${coverage.maxX}, rows from the bottom ${last - coverage.maxY} to ${last - coverage.minY}`
    : `zooms are ${subset.zoomStart} to ${subset.zoomStop}`;
  return new TilewardenError('tile-outside', `There is no tile ${x},${y} at zoom ${z}; ${inside}.`);
}

function isFlipped(context: Context): boolean {
  return context.query !== '' && readKvp(context.query)('FLIPY')?.toLowerCase() === 'true';
}

function checkVersion(context: Context): void {
  const version = context.param('version');
  if (version === '1.0.0') return;
  throw invalid(`The only supported version of TMS is 1.0.0, not ${shortened(version)}.`);
}

function folderOf(context: Context): string {
  return `${context.baseUrl}${ROOT}`;
}

function xmlResponse(context: Context, document: Html, layers: readonly Layer[]): Response {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${carryKey(context, document.markup, layers, '&amp;')}\n`;
  const answer = documentResponse(context, text, layers, XML);
  return withHeaders(answer, ['Content-Disposition', `inline;filename=${FILE_NAME}`]);
}
