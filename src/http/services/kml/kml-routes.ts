import { type BoundLayer, boundLayer, type Catalog } from '../../../catalog/catalog.ts';
import { type Bounds, boundsOf, intersectBounds } from '../../../domain/bounds.ts';
import { builtInGridSets } from '../../../domain/built-in-grid-sets.ts';
import { invalid, shortened, TilewardenError } from '../../../domain/errors.ts';
import { formatOfExtension } from '../../../domain/format.ts';
import { boundsOfTile, isWithinScales, levelOf, scaleAt, tilesOfBounds } from '../../../domain/grid-set.ts';
import { createGridSubset, type GridSubset, subsetContains } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { sizeOfRect } from '../../../domain/tile-rect.ts';
import { remembered } from '../../../lib/get-or-create.ts';
import { writeZip } from '../../../lib/write-zip.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { requireVisible } from '../../auth/layer-visibility.ts';
import { carryKey } from '../../auth/reader-key.ts';
import type { Context } from '../../context.ts';
import { type Html as Markup, html as markup, tagged } from '../../page.ts';
import type { Response } from '../../response.ts';
import { type Handler, openRoute, type Route, recovering } from '../../route.ts';
import { parametersOf, readKvp } from '../kvp.ts';
import { documentResponse } from '../layer-documents.ts';
import { geographicBoxOf, geographicExtent, titleOf } from '../layer-facts.ts';
import type { Services } from '../open-services.ts';
import { ServiceException } from '../service-exception.ts';
import { formatNamed, layerFor } from '../tiles.ts';
import { answerComposed, type MapRequest } from '../wms/get-map.ts';
import { mapFormat } from '../wms/map-request.ts';

const ROOT = '/service/kml';
const TYPES: Readonly<Record<KmlKind, string>> = {
  kml: 'application/vnd.google-earth.kml+xml; charset=utf-8',
  kmz: 'application/vnd.google-earth.kmz',
};

/** KML super-overlays, at GeoWebCache's addresses: a document for each tile, with links to those of the next zoom. */
export function kmlRoutes(deps: Services): readonly Route[] {
  // Warped tiles are drawn by the code of WMS, which throws its own exceptions.
  const inPlainText = (error: unknown) => {
    throw error instanceof ServiceException ? invalid(error.message) : error;
  };
  const route = (path: string, handler: Handler) =>
    openRoute(`${ROOT}${path}`, recovering(handler, inPlainText));
  return [route('/{document}', describeLayer(deps.catalog)), route('/{layer}/{tile}', createKmlTile(deps))];
}

function describeLayer(catalog: Services['catalog']): Handler {
  return async (context) => {
    const { bound, extension, kind } = documentNamed(catalog, context.param('document'));
    await requireVisible(context, bound.layer);
    const shown = extension ?? pictureExtension(bound.layer);
    checkFormat(context, bound, shown);
    const text = rootDocument(kmlLayer(context, bound.layer, shown));
    return kmlResponse(context, text, kind, bound.layer);
  };
}

function createKmlTile(services: Services): Handler {
  const { catalog, answerTile } = services;
  return async (context) => {
    const bound = await layerFor(context, catalog, context.param('layer'));
    const { layer } = bound;
    const { subset } = degreesOf(layer);
    const { index, extension, kind } = tileNamed(subset, context.param('tile'));
    const tiles = checkFormat(context, bound, extension);
    if (kind === null && tiles) return answerTile(context, tiles, index);
    const isThere = subsetContains(subset, index.z, index.x, index.y);
    if (kind === null && isThere) return answerWarped(context, services, bound, { index, extension });
    const text = kind && tileDocument(kmlLayer(context, layer, extension), index);
    if (text) return kmlResponse(context, text, kind, layer);
    throw new TilewardenError('tile-outside', `Layer ${layer.name} has nothing at ${context.param('tile')}.`);
  };
}

/** The tiles in the format; null: the layer has none in degrees, they are warped. */
function checkFormat(context: Context, bound: BoundLayer, extension: string): ResolvedTileSet | null {
  const { layer } = bound;
  const { subset, isWarped } = degreesOf(layer);
  const format = isWarped ? mapFormat([bound], () => extension) : formatNamed(layer, extension);
  if (format.kind !== 'raster') {
    throw new TilewardenError('format-unknown', `KML shows images; .${extension} is not an image format.`);
  }
  if (isWarped) return null;
  const parameters = parametersOf(context.query, layer.parameters);
  return resolveTileSet(bound, { gridSet: subset.gridSet.name, format: format.mediaType, parameters });
}

/** A tile in degrees, drawn as by WMS, of a layer without tiles in degrees. */
function answerWarped(
  context: Context,
  services: Services,
  bound: BoundLayer,
  { index: { z, x, y }, extension }: { readonly index: TileIndex; readonly extension: string },
): Promise<Response> {
  const { gridSet } = degreesOf(bound.layer).subset;
  const inQuery = readKvp(context.query);
  const kvp = (name: string) => (name === 'TRANSPARENT' ? 'TRUE' : inQuery(name));
  const { tileWidth: width, tileHeight: height } = gridSet;
  const [first, ...others] = bound.layer.gridSubsets;
  const map = {
    kvp,
    layers: [{ bound, style: inQuery('STYLES') ?? '', subsets: [first, ...others], isWarped: true }],
    crs: { name: 'EPSG:4326', code: DEGREES, longitudeFirst: true },
    place: { bounds: boundsOfTile(gridSet, z, x, y), width, height },
    format: mapFormat([bound], () => extension),
    tiled: false,
  } satisfies MapRequest;
  return answerComposed(context, services, map, { matches: [null], blank: false });
}

/** `folder`: the layer's address, without a trailing slash. `query`: with its question mark, or empty. */
function kmlLayer(context: Context, layer: Layer, extension: string) {
  const { subset } = degreesOf(layer);
  const query = new URLSearchParams([...parametersOf(context.query, layer.parameters)]).toString();
  const folder = `${context.baseUrl}${ROOT}/${encodeURIComponent(layer.name)}`;
  return { layer, subset, folder, extension, query: query === '' ? '' : `?${query}` };
}

function kmlResponse(context: Context, text: string, kind: KmlKind, layer: Layer): Response {
  const carried = carryKey(context, text, [layer], '&amp;');
  const document = kind === 'kmz' ? writeZip('doc.kml', Buffer.from(carried)) : carried;
  return documentResponse(context, document, [layer], TYPES[kind]);
}

type KmlKind = 'kml' | 'kmz';

const DEGREES = 4326;
const KINDS = /^(?<rest>.+)\.(?<kind>kml|kmz)$/i;
const TILE = /^x(0|[1-9]\d{0,9})y(0|[1-9]\d{0,9})z(0|[1-9]\d?)\.(.+)$/;

/** `states.kml`, `states.png.kml`, `states.jpeg.kmz`: a layer, in its own format (null) or a named one. */
function documentNamed(catalog: Pick<Catalog, 'layer'>, text: string) {
  const { rest, kind } = splitKind(text);
  if (kind === null) throw invalid(`${shortened(text)} must end in .kml or .kmz.`);
  const whole = catalog.layer(rest);
  if (whole) return { bound: whole, extension: null, kind };
  const dot = rest.lastIndexOf('.');
  const extension = dot > 0 ? rest.slice(dot + 1) : '';
  const name = formatOfExtension(extension) ? rest.slice(0, dot) : rest;
  return { bound: boundLayer(catalog, name), extension, kind };
}

/** `x1y2z3.png` is a tile, rows from the bottom; `x1y2z3.png.kml` is its document. */
function tileNamed(subset: GridSubset, text: string) {
  const { rest, kind } = splitKind(text);
  const [, x, y, z, extension] = TILE.exec(rest) ?? [];
  if (x === undefined || extension === undefined) {
    throw invalid(`A tile is named x1y2z3.png, and its document x1y2z3.png.kml, not ${shortened(text)}.`);
  }
  const zoom = Number(z);
  const row = levelOf(subset.gridSet, zoom).rows - 1 - Number(y);
  return { index: { z: zoom, x: Number(x), y: row }, extension, kind };
}

/** KML supports longitude and latitude only: a layer without such tiles gets warped ones. */
const degreesOf = remembered((layer: Layer): { readonly subset: GridSubset; readonly isWarped: boolean } => {
  const own = layer.gridSubsets.find(({ gridSet }) => gridSet.srs === DEGREES);
  if (own) return { subset: own, isWarped: false };
  const gridSet = builtInGridSets().find(({ srs }) => srs === DEGREES);
  const isKnown = layer.gridSubsets.every((subset) => geographicBoxOf(subset));
  const extent = isKnown ? geographicExtent(layer) : null;
  if (!gridSet || !extent) {
    throw new TilewardenError(
      'grid-set-unknown',
      `KML needs a grid set in EPSG:4326, or in a known projection, and layer ${layer.name} has none.`,
    );
  }
  const finest = Math.min(...layer.gridSubsets.map((subset) => scaleAt(subset.gridSet, subset.zoomStop)));
  const finer = gridSet.levels.findIndex((_, z) => isWithinScales([0, finest], scaleAt(gridSet, z)));
  const zoomStop = finer < 0 ? undefined : Math.max(0, finer - 1);
  return {
    subset: createGridSubset(gridSet, {
      extent: boundsOf(extent),
      ...(zoomStop !== undefined && { zoomStop }),
    }),
    isWarped: true,
  };
});

/** Warped pictures are PNG, being transparent around the layer. */
function pictureExtension(layer: Layer): string {
  const { formats, name } = layer;
  const format = formats.find(({ kind }) => kind === 'raster');
  if (format) return degreesOf(layer).isWarped ? 'png' : format.extensions[0];
  throw new TilewardenError('format-unknown', `Layer ${name} has no pictures to show in KML.`);
}

function splitKind(text: string): { readonly rest: string; readonly kind: KmlKind | null } {
  const { rest = text, kind = null } = KINDS.exec(text)?.groups ?? {};
  return { rest, kind: kind === null ? null : (kind.toLowerCase() as KmlKind) };
}

type KmlLayer = ReturnType<typeof kmlLayer>;

/** Pixels of a region on the screen before its tiles are loaded. */
const MIN_PIXELS = 128;
const ANY_PIXELS = -1;
const MAX_LINKS = 1000;
const WORLD: Bounds = { minX: -180, minY: -90, maxX: 180, maxY: 90 };

/** Links to the coarsest tiles. */
function rootDocument(kml: KmlLayer): string {
  const { layer, subset } = kml;
  const links = tilesWithin(subset, 0, subset.extent).map((tile) => networkLink(kml, tile));
  return kmlText(
    markup`<name>${titleOf(layer)}</name>${tagged('Snippet', layer.attribution || null)}${tagged('description', layer.description || null)}${links}`,
  );
}

/** One tile as an overlay, and links to the finer ones. Null outside the layer. */
function tileDocument(kml: KmlLayer, tile: TileIndex): string | null {
  const { subset } = kml;
  const bounds = boundsOfTile(subset.gridSet, tile.z, tile.x, tile.y);
  const inside = intersectBounds(bounds, subset.extent);
  if (!inside || tile.z > subset.zoomStop) return null;
  const finer = tilesWithin(subset, tile.z + 1, inside).filter((child) => isCentredIn(subset, child, bounds));
  const links = finer.map((child) => networkLink(kml, child));
  const overlays = subsetContains(subset, tile.z, tile.x, tile.y) ? [groundOverlay(kml, tile, bounds)] : [];
  return kmlText(
    markup`<name>${nameOfTile(subset, tile)}</name>${region(bounds, MIN_PIXELS)}${links}${overlays}`,
  );
}

function tilesWithin({ gridSet, zoomStop }: GridSubset, z: number, bounds: Bounds): readonly TileIndex[] {
  const rect = z > zoomStop ? null : tilesOfBounds(gridSet, z, bounds);
  if (!rect) return [];
  const count = sizeOfRect(rect);
  if (count > MAX_LINKS) {
    throw invalid(
      `Grid set ${gridSet.name} begins too fine for KML: ${count} tiles at zoom ${z}; at most ${MAX_LINKS} go into a document.`,
    );
  }
  const tiles: TileIndex[] = [];
  for (let y = rect.minY; y <= rect.maxY; y++) {
    for (let x = rect.minX; x <= rect.maxX; x++) tiles.push({ z, x, y });
  }
  return tiles;
}

/** If zooms do not halve, a tile can overlap two coarser ones; only one of them links to it. */
function isCentredIn({ gridSet }: GridSubset, { z, x, y }: TileIndex, parent: Bounds): boolean {
  const { minX, minY, maxX, maxY } = boundsOfTile(gridSet, z, x, y);
  const [longitude, latitude] = [(minX + maxX) / 2, (minY + maxY) / 2];
  return (
    longitude >= parent.minX && longitude < parent.maxX && latitude > parent.minY && latitude <= parent.maxY
  );
}

function networkLink({ subset, folder, extension, query }: KmlLayer, tile: TileIndex): Markup {
  const name = nameOfTile(subset, tile);
  const bounds = boundsOfTile(subset.gridSet, tile.z, tile.x, tile.y);
  const href = `${folder}/${name}.${extension}.kml${query}`;
  return markup`<NetworkLink><name>${name}</name>${region(bounds, tile.z === 0 ? 0 : MIN_PIXELS)}<Link><href>${href}</href><viewRefreshMode>onRegion</viewRefreshMode></Link></NetworkLink>`;
}

/** Finer tiles cover coarser ones, which stay visible until the finer ones are loaded. */
function groundOverlay(kml: KmlLayer, tile: TileIndex, bounds: Bounds): Markup {
  const name = nameOfTile(kml.subset, tile);
  const href = `${kml.folder}/${name}.${kml.extension}${kml.query}`;
  return markup`<GroundOverlay><name>${name}</name><drawOrder>${tile.z}</drawOrder><Icon><href>${href}</href></Icon><LatLonBox>${sides(bounds)}</LatLonBox></GroundOverlay>`;
}

function region(bounds: Bounds, leastPixels: number): Markup {
  return markup`<Region><LatLonAltBox>${sides(bounds)}</LatLonAltBox><Lod><minLodPixels>${leastPixels}</minLodPixels><maxLodPixels>${ANY_PIXELS}</maxLodPixels></Lod></Region>`;
}

/** A tile can reach beyond the poles, a box on the globe cannot. */
function sides(bounds: Bounds): Markup {
  const { minX, minY, maxX, maxY } = intersectBounds(bounds, WORLD) ?? bounds;
  return markup`<north>${maxY}</north><south>${minY}</south><east>${maxX}</east><west>${minX}</west>`;
}

function kmlText(content: Markup): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${content.markup}</Document></kml>\n`;
}

function nameOfTile({ gridSet }: GridSubset, { z, x, y }: TileIndex): string {
  return `x${x}y${levelOf(gridSet, z).rows - 1 - y}z${z}`;
}
