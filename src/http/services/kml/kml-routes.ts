import { type BoundLayer, boundLayer, type Catalog } from '../../../catalog/catalog.ts';
import { invalid, shortened, TilewardenError } from '../../../domain/errors.ts';
import { formatOfExtension } from '../../../domain/format.ts';
import { levelOf } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { writeZip } from '../../../lib/write-zip.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import { requireVisible } from '../../auth/layer-visibility.ts';
import { carryKey } from '../../auth/reader-key.ts';
import type { Context } from '../../context.ts';
import type { Response } from '../../response.ts';
import { type Handler, openRoute, type Route } from '../../route.ts';
import { parametersOf } from '../kvp.ts';
import { documentResponse } from '../layer-documents.ts';
import type { Services } from '../open-services.ts';
import { formatNamed, layerFor } from '../tiles.ts';
import { type KmlLayer, rootDocument, tileDocument } from './kml-documents.ts';

const ROOT = '/service/kml';
const TYPES: Readonly<Record<KmlKind, string>> = {
  kml: 'application/vnd.google-earth.kml+xml; charset=utf-8',
  kmz: 'application/vnd.google-earth.kmz',
};

/** KML super-overlays, at GeoWebCache's addresses: a document for each tile, with the next finer ones behind links. */
export function kmlRoutes(deps: Services): readonly Route[] {
  const route = (path: string, handler: Handler) => openRoute(`${ROOT}${path}`, handler);
  return [route('/{document}', describeLayer(deps.catalog)), route('/{layer}/{tile}', createKmlTile(deps))];
}

function describeLayer(catalog: Services['catalog']): Handler {
  return async (context) => {
    const { bound, extension, kind } = documentNamed(catalog, context.param('document'));
    await requireVisible(context, bound.layer);
    const shown = extension ?? pictureExtension(bound.layer);
    const text = rootDocument(kmlLayer(context, tileSetOf(context, bound, shown), shown));
    return kmlResponse(context, text, kind, bound.layer);
  };
}

function createKmlTile({ catalog, answerTile }: Services): Handler {
  return async (context) => {
    const bound = await layerFor(context, catalog, context.param('layer'));
    const { layer } = bound;
    const { index, extension, kind } = tileNamed(degreesSubset(layer), context.param('tile'));
    const tiles = tileSetOf(context, bound, extension);
    if (kind === null) return answerTile(context, tiles, index);
    const text = tileDocument(kmlLayer(context, tiles, extension), index);
    if (text !== null) return kmlResponse(context, text, kind, layer);
    throw new TilewardenError('tile-outside', `Layer ${layer.name} has nothing at ${context.param('tile')}.`);
  };
}

function tileSetOf(context: Context, bound: BoundLayer, extension: string): ResolvedTileSet {
  const { layer } = bound;
  const { gridSet } = degreesSubset(layer);
  const format = formatNamed(layer, extension);
  if (format.kind !== 'raster') {
    throw new TilewardenError('format-unknown', `KML shows images; .${extension} is not an image format.`);
  }
  const parameters = parametersOf(context.query, layer.parameters);
  return resolveTileSet(bound, { gridSet: gridSet.name, format: format.mediaType, parameters });
}

function kmlLayer(context: Context, { bound, subset }: ResolvedTileSet, extension: string): KmlLayer {
  const { layer } = bound;
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

/** `x1y2z3.png` is a tile, rows from the bottom; `x1y2z3.png.kml` tells of it. */
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

/** KML knows longitude and latitude only. */
function degreesSubset(layer: Layer): GridSubset {
  const found = layer.gridSubsets.find(({ gridSet }) => gridSet.srs === DEGREES);
  if (found) return found;
  throw new TilewardenError(
    'grid-set-unknown',
    `KML needs a grid set in EPSG:4326, and layer ${layer.name} has none.`,
  );
}

function pictureExtension({ formats, name }: Layer): string {
  const format = formats.find(({ kind }) => kind === 'raster');
  if (format) return format.extensions[0];
  throw new TilewardenError('format-unknown', `Layer ${name} has no pictures to show in KML.`);
}

function splitKind(text: string): { readonly rest: string; readonly kind: KmlKind | null } {
  const { rest = text, kind = null } = KINDS.exec(text)?.groups ?? {};
  return { rest, kind: kind === null ? null : (kind.toLowerCase() as KmlKind) };
}
