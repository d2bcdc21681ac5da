import { type BoundLayer, boundLayer, type Catalog } from '../../../catalog/catalog.ts';
import type { Bounds } from '../../../domain/bounds.ts';
import { invalid, shortened, TilewardenError } from '../../../domain/errors.ts';
import type { Format } from '../../../domain/format.ts';
import { boundsOfRect, type GridSet, levelOf } from '../../../domain/grid-set.ts';
import { coverageAt, type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import { gridSubsetOf, type Layer } from '../../../domain/layer.ts';
import { isWebMercator, sameSrs } from '../../../domain/srs.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { isOpenTo, requireVisible } from '../../auth/layer-visibility.ts';
import { carryKey, hasKeyInAddress } from '../../auth/reader-key.ts';
import type { Context } from '../../context.ts';
import { type Html, type Html as Markup, html as markup } from '../../page.ts';
import { type Response, withHeaders } from '../../response.ts';
import { type Handler, openRoute, type Route, tileRoute } from '../../route.ts';
import { parametersOf, readKvp } from '../kvp.ts';
import { BASE, documentResponse } from '../layer-documents.ts';
import { titleOf } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { formatNamed, indexOf, splitRow } from '../tiles.ts';

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
    tileRoute(`${ROOT}/{version}/{map}/{z}/{x}/{tile}`, tile),
  ];
}

function describeRoot(context: Context): Response {
  return xmlResponse(context, servicesDocument(folderOf(context)), []);
}

function describeService(documentOf: Services['documentOf']): Handler {
  const document = documentOf({ write: writeService, contentType: XML, fileName: FILE_NAME });
  return async (context) => {
    checkVersion(context);
    return document.aboutAll(context);
  };
}

function describeTileMap(catalog: Services['catalog']): Handler {
  return async (context) => {
    checkVersion(context);
    const { bound, rest } = readTileMapName(catalog, context.param('map'));
    const { layer } = bound;
    await requireVisible(context, layer);
    const map = tileMapNamed(layer, rest, null);
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
    const { bound, rest } = readTileMapName(catalog, context.param('map'));
    if (!isOpenTo(context, bound.layer)) await requireVisible(context, bound.layer);
    const { subset, format } = tileMapNamed(bound.layer, rest, extension);
    const tiles = resolveTileSet(bound, {
      gridSet: subset.gridSet.name,
      format: format.mediaType,
      parameters: parametersOf(context.query, bound.layer.parameters),
    });
    return answerTile(context, tiles, tileIndex({ ...place, row, flipped: isFlipped(context) }, tiles));
  });
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

/** `flipped`: rows count from the top. */
function tileIndex(
  place: { readonly z: string; readonly x: string; readonly row: string; readonly flipped: boolean },
  { bound, subset }: ResolvedTileSet,
): TileIndex {
  const { flipped } = place;
  const z = indexOf('zoom', place.z);
  const x = indexOf('column', place.x);
  const row = indexOf('row', place.row);
  const last = levelOf(subset.gridSet, z).rows - 1;
  const y = flipped ? row : last - row;
  const isAllowed = flipped || bound.layer.outside === 'transparent';
  if (isAllowed || subsetContains(subset, z, x, y)) return { z, x, y };
  throw outside(subset, { z, x, y: row }, last);
}

/** Names the allowed range, rows from the bottom as in the address. */
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
  if (version === VERSION) return;
  throw invalid(`The only supported version of TMS is ${VERSION}, not ${shortened(version)}.`);
}

function folderOf(context: Context): string {
  return `${context.baseUrl}${ROOT}`;
}

function xmlResponse(context: Context, document: Html, layers: readonly Layer[]): Response {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${carryKey(context, document.markup, layers, '&amp;')}\n`;
  const answer = documentResponse(context, text, layers, XML);
  return withHeaders(answer, ['Content-Disposition', `inline;filename=${FILE_NAME}`]);
}

const VERSION = '1.0.0';
const WEB_MERCATOR = 3857;
const DEGREES = 4326;
const TITLE = 'Tilewarden';
/** The tolerance, as a share of a pixel. */
const SAME_EDGE = 1e-3;

/**
 * Clients append `/{x}/{y}.{ext}` to the address of a zoom, whatever its end. With a key in the query, the tile is the
 * last value of the query: `…@png?key=…&tms-tile=/3/2/1.png`.
 */
const TILE_IN_QUERY = 'tms-tile';

/** The root: services and versions. `folder`: the address of the service, without a trailing slash. */
function servicesDocument(folder: string): Markup {
  // GDAL detects the document by its version attribute, which must come first.
  return markup`<Services><TileMapService version="${VERSION}" title="${TITLE}" href="${folder}/${VERSION}"/></Services>`;
}

function* writeService(layers: readonly Layer[]): Iterable<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield markup`<TileMapService version="${VERSION}" services="${BASE}${ROOT}"><Title>${TITLE}</Title><Abstract>Map tiles from a cache</Abstract><TileMaps>`
    .markup;
  for (const layer of layers) for (const map of tileMapsOf(layer)) yield map.markup;
  yield '</TileMaps></TileMapService>\n';
}

/** The bounding box is the grid's, not the layer's: GDAL takes its lower left corner as the origin. */
function tileMapDocument(folder: string, { layer, subset, format }: TileMap, tilesInQuery: boolean): Markup {
  const { gridSet } = subset;
  const { minX, minY, maxX, maxY } = boundsAt(gridSet, subset.zoomStart);
  const map = `${folder}/${VERSION}/${tileMapName(layer, subset, format)}`;
  const href = tilesInQuery ? `${map}?${TILE_IN_QUERY}=` : map;
  return markup`<TileMap version="${VERSION}" tilemapservice="${folder}/${VERSION}">
<Title>${titleOf(layer)}</Title>
<Abstract>${layer.description}</Abstract>
<SRS>${srsOf(gridSet)}</SRS>
<BoundingBox minx="${minX}" miny="${minY}" maxx="${maxX}" maxy="${maxY}"/>
<Origin x="${minX}" y="${minY}"/>
<TileFormat width="${gridSet.tileWidth}" height="${gridSet.tileHeight}" mime-type="${format.contentType}" extension="${format.extensions[0]}"/>
<TileSets profile="${profileOf(gridSet)}">${tileSets(subset, href)}</TileSets>
</TileMap>`;
}

/** A tile map has one origin, at its bottom left. Grids that are aligned to their top may have another at each level. */
function hasOneOrigin({ gridSet, zoomStart, zoomStop }: GridSubset): boolean {
  const { minY } = boundsAt(gridSet, zoomStart);
  return gridSet.levels.every(({ resolution }, z) => {
    const offered = z >= zoomStart && z <= zoomStop;
    return !offered || Math.abs(boundsAt(gridSet, z).minY - minY) < resolution * SAME_EDGE;
  });
}

function tileMapsOf(layer: Layer): readonly Markup[] {
  return layer.gridSubsets.filter(hasOneOrigin).flatMap((subset) => {
    const { gridSet } = subset;
    return layer.formats.map(
      (format) =>
        markup`<TileMap title="${titleOf(layer)}" srs="${srsOf(gridSet)}" profile="${profileOf(gridSet)}" href="${BASE}${ROOT}/${VERSION}/${tileMapName(layer, subset, format)}"/>`,
    );
  });
}

function tileSets({ gridSet, zoomStart, zoomStop }: GridSubset, href: string): readonly Markup[] {
  return gridSet.levels.slice(zoomStart, zoomStop + 1).map(({ resolution }, offset) => {
    const z = zoomStart + offset;
    return markup`<TileSet href="${href}/${z}" units-per-pixel="${resolution}" order="${z}"/>`;
  });
}

function boundsAt(gridSet: GridSet, z: number): Bounds {
  const { columns, rows } = levelOf(gridSet, z);
  return boundsOfRect(gridSet, z, { minX: 0, minY: 0, maxX: columns - 1, maxY: rows - 1 });
}

function srsOf({ srs }: GridSet): string {
  return `EPSG:${sameSrs(srs, WEB_MERCATOR) ? WEB_MERCATOR : srs}`;
}

function profileOf(gridSet: GridSet): string {
  const small = gridSet.tileWidth === 256 && gridSet.tileHeight === 256;
  if (small && isWebMercator(gridSet)) return 'global-mercator';
  return small && isWorldInDegrees(gridSet) ? 'global-geodetic' : 'local';
}

function isWorldInDegrees({ srs, extent, levels }: GridSet): boolean {
  return (
    srs === DEGREES &&
    extent.minX === -180 &&
    extent.minY === -90 &&
    levels.every(({ columns, rows }, z) => columns === 2 ** (z + 1) && rows === 2 ** z)
  );
}

/** A tile map of TMS: one layer in one grid set and one format. */
type TileMap = ReturnType<typeof tileMapNamed>;

/** `layer@gridSet@extension`, matched from the end: names may contain an `@`. */
const FULL_NAME = /^(?<layer>.+)@(?<gridSet>[^@]+)@(?<extension>[^@]+)$/;

/** What follows the layer in a tile map's name; null: nothing. It is not read before the caller may see the layer. */
type RestOfName = { readonly gridSet: string; readonly extension: string } | null;

function readTileMapName(
  catalog: Pick<Catalog, 'layer'>,
  name: string,
): { readonly bound: BoundLayer; readonly rest: RestOfName } {
  const parts = FULL_NAME.exec(name)?.groups;
  const short = catalog.layer(name);
  if (short || !parts) return { bound: short ?? boundLayer(catalog, name), rest: null };
  const { layer = '', gridSet = '', extension = '' } = parts;
  return { bound: boundLayer(catalog, layer), rest: { gridSet, extension } };
}

/**
 * A bare layer name means the layer's first grid set; without an extension of a tile, its first format.
 * Throws `grid-set-unknown` or `format-unknown`.
 */
function tileMapNamed(layer: Layer, rest: RestOfName, extension: string | null) {
  const subset = rest ? gridSubsetOf(layer, rest.gridSet) : layer.gridSubsets[0];
  const named = rest?.extension ?? extension;
  const format = named === null ? layer.formats[0] : formatNamed(layer, named);
  if (extension === null || formatNamed(layer, extension) === format) return { layer, subset, format };
  throw new TilewardenError(
    'format-unknown',
    `This tile map has .${named} tiles only, no .${shortened(extension)} ones.`,
  );
}

function tileMapName(layer: Layer, { gridSet }: GridSubset, format: Format): string {
  return `${encodeURIComponent(layer.name)}@${encodeURIComponent(gridSet.name)}@${format.extensions[0]}`;
}
