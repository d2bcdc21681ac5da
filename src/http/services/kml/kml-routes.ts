import type { BoundLayer } from '../../../catalog/bound-layer.ts';
import { TilewardenError } from '../../../domain/errors.ts';
import type { Layer } from '../../../domain/layer.ts';
import { writeZip } from '../../../lib/write-zip.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../../pipeline/tile-pipeline.ts';
import type { Answer } from '../../answer.ts';
import { isOpen, refuseStrangers } from '../../door/layer-visibility.ts';
import type { Exchange } from '../../exchange.ts';
import type { Handler, Route } from '../../route.ts';
import { documentAnswer } from '../layer-documents.ts';
import type { Services } from '../open-services.ts';
import { parametersOf } from '../query-parameters.ts';
import { formatNamed } from '../tile-address.ts';
import { boundLayer } from '../tiles.ts';
import { degreesSubset, documentNamed, type KmlKind, tileNamed } from './kml-address.ts';
import { type KmlLayer, rootDocument, tileDocument } from './kml-documents.ts';

const ROOT = '/service/kml';
const TYPES: Readonly<Record<KmlKind, string>> = {
  kml: 'application/vnd.google-earth.kml+xml; charset=utf-8',
  kmz: 'application/vnd.google-earth.kmz',
};

/** KML super-overlays, at GeoWebCache's addresses: a document for each tile, with the next finer ones behind links. */
export function kmlRoutes(deps: Services): readonly Route[] {
  const route = (path: string, handler: Handler): Route => ({
    method: 'GET',
    path: `${ROOT}${path}`,
    role: 'public',
    sharing: 'anyone',
    handler,
  });
  return [route('/{document}', describeLayer(deps.catalog)), route('/{layer}/{tile}', createKmlTile(deps))];
}

function describeLayer(catalog: Services['catalog']): Handler {
  return async (exchange) => {
    const { bound, extension, kind } = documentNamed(catalog, exchange.param('document'));
    await refuseStrangers(exchange, bound.layer);
    const tiles = tileSetOf(exchange, bound, extension);
    const text = rootDocument(kmlLayer(exchange, tiles, extension));
    return kmlAnswer(exchange, text, kind, bound.layer);
  };
}

function createKmlTile({ catalog, answerTile }: Services): Handler {
  return async (exchange) => {
    const bound = boundLayer(catalog, exchange.param('layer'));
    const { layer } = bound;
    if (!isOpen(layer)) await refuseStrangers(exchange, layer);
    const { index, extension, kind } = tileNamed(degreesSubset(layer), exchange.param('tile'));
    const tiles = tileSetOf(exchange, bound, extension);
    if (kind === null) return answerTile(exchange, tiles, index);
    const text = tileDocument(kmlLayer(exchange, tiles, extension), index);
    if (text !== null) return kmlAnswer(exchange, text, kind, layer);
    throw new TilewardenError(
      'tile-outside',
      `Layer ${layer.name} has nothing at ${exchange.param('tile')}.`,
    );
  };
}

function tileSetOf(exchange: Exchange, bound: BoundLayer, extension: string): ResolvedTileSet {
  const { layer } = bound;
  const { gridSet } = degreesSubset(layer);
  const format = formatNamed(layer, extension);
  if (format.kind !== 'raster') {
    throw new TilewardenError('format-unknown', `KML shows pictures, and .${extension} is none.`);
  }
  const parameters = parametersOf(exchange.query, layer.parameters);
  return resolveTileSet(bound, { gridSet: gridSet.name, format: format.mediaType, parameters });
}

function kmlLayer(exchange: Exchange, { bound, subset }: ResolvedTileSet, extension: string): KmlLayer {
  const { layer } = bound;
  const query = new URLSearchParams([...parametersOf(exchange.query, layer.parameters)]).toString();
  const folder = `${exchange.baseUrl}${ROOT}/${encodeURIComponent(layer.name)}`;
  return { layer, subset, folder, extension, query: query === '' ? '' : `?${query}` };
}

function kmlAnswer(exchange: Exchange, text: string, kind: KmlKind, layer: Layer): Answer {
  const document = kind === 'kmz' ? writeZip('doc.kml', Buffer.from(text)) : text;
  return documentAnswer(exchange, document, [layer], TYPES[kind]);
}
